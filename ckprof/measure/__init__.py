"""One way to run, verify and time kernels."""
