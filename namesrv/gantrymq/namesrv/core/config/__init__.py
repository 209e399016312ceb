"""Stores KV configuration, and values that take effect once they are on disk."""
