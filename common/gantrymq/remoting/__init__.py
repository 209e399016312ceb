"""Implements sessions: the remoting protocol's state on one connection, without the connection."""
