"""An AMD device in software: executes the instructions of compiled kernels on the CPU."""
