"""Files of programs that use tuned results: judged, written, read, and the kernels in their logs."""
