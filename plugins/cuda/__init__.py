"""NVIDIA GPUs as a place where kernels are built and run."""
