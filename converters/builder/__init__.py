"""What CK Builder instantiates for a line of a list: the second route of the parity check."""
