"""Kernel libraries for Python programs: numpy arrays in, numpy arrays out."""
