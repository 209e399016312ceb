"""Implements the connections between the members of an elected group."""
