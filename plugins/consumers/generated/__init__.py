"""Programs that embed generated kernels: a table of winners in C++."""
