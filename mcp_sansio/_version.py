"""The version of the distribution: the build reads it here, and so does everything that tells a peer who we are."""

__version__ = "0.1.0"
