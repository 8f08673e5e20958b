"""PyTorch's Inductor: kernels of Composable Kernel that it compiles, best first, and its lists."""
