"""The commit log: its files, its end, its flushes, and walks through it."""
