"""The properties of conversations, each a checker."""
