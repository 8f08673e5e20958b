"""Sources in the form of CK Tile's own dispatcher, for its build and its registry of grouped convolutions."""
