"""Provides the commit log: its writes and reads, its flushes, its truncation, and walks over it."""
