"""What the directions of convolution share: problems, lines, layouts, references, C interface."""
