"""The formats that come with ckprof."""
