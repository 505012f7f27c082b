"""The contestants: each file drives one library, in a process and an environment of its own."""
