"""Kernels that are launched from a loaded code object, by a description in place of C++."""
