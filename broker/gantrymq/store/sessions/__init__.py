"""Deduplicates the messages of producer sessions: each numbered message is stored once."""
