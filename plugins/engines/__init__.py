"""Engines for sweeps on many machines."""
