"""Benchmarks: one question per file, answered side by side with the peers by `python -m benchmarks`."""
