"""Kernels written in FlyDSL, as a family of ckprof."""
