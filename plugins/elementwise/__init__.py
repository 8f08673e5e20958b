"""What kernels do with each element of a sum of products before it is stored."""
