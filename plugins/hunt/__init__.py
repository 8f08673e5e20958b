"""Problems at the boundaries where faults of kernels live, run and verified on every kernel."""
