"""Counts what the broker does, for its metrics: requests, and messages by topic and group."""
