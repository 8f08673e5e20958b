"""AITER: tables of tuned matrix products."""
