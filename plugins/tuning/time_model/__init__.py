"""A time model: its training, its judgement, and the choice among kernels by it."""
