"""The kernel family ``naive_gather``."""
