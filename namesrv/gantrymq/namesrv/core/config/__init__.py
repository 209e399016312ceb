"""KV configuration, and values that count once they are on disk."""
