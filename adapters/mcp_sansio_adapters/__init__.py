"""Adapters that move bytes, time and cancellation between a machine of `mcp_sansio` and a real event loop.

Each event loop has a module of its own, imported by name, so that none is loaded unless it is asked for.
"""
