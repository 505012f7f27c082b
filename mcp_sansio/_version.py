"""The version of the distribution: the build reads it here, and so does whatever tells a peer who we are."""

__version__ = "0.1.0"
"""The version of the distribution."""
