"""Searches: what to measure next, and when it is enough."""
