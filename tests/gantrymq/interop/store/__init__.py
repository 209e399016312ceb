"""Stores of either side, and metrics."""
