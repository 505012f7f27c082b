"""Benchmarks: one question per file, answered side by side with what else there is by `python -m benchmarks`."""
