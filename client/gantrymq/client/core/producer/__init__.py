"""Implements producers, transactions, and requests that wait for replies."""
