"""Provides the client's protocol flows and decisions, without I/O."""
