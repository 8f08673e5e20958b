"""Choosing the kernel for a problem without measuring: a time model, its training, and the choice."""
