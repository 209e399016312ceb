"""Requests of clients about themselves: heartbeats, locks, assignments, connections."""
