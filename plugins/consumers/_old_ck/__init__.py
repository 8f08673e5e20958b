"""What the old library's device operations are called, and which problems they support."""
