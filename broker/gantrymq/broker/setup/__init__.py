"""Reads what a broker's settings say of its group, its links and its Lease."""
