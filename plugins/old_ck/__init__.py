"""Kernels of the old library: lines of legacy lists as the C++ types that they are, built and run."""
