"""Reads: pulls, lookups, and readings that never block the loop."""
