"""Cores of the client: protocol flows and decisions, without I/O."""
