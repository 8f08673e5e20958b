"""The product of two matrices; see the modules."""
