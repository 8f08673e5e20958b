"""A performance gate without a device: predicted times of two states of headers or compilers, compared."""
