"""Measuring many kernels on many problems: what is left to do, in which order, and when it is enough."""
