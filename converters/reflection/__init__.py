"""CK Builder itself, asked: its reflection compiled for the factories of a tree, on the host alone."""
