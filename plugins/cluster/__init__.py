"""Sweeps on many devices and machines: what is handed to an engine, and what becomes of it."""
