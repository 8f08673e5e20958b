"""Stores of predictions: predicted times as attempts, which nothing takes for measured ones."""
