"""Stores the messages of a broker: one log, queues and an index derived from it, and recovery."""
