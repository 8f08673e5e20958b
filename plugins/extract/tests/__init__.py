"""Lists from an installed library."""
