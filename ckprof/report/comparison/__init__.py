"""Comparisons as text, JSON, CSV and JUnit."""
