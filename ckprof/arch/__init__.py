"""What is known of the GPU architectures that kernels are written for; the properties are data."""
