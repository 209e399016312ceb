"""Scenarios of our own client."""
