"""Benchmarks: one question per file, answered by `python -m benchmarks.NAME` in a checkout."""
