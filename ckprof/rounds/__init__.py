"""Rounds of measurements: who runs when, who leaves, and when a ranking is settled."""
