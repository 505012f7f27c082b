"""Traces from outside of a world: judged, and executed once more."""
