"""The processes that run kernels, and what they and their parent say to each other."""
