"""Comparing measurements: what became faster, slower or wrong between two sides."""
