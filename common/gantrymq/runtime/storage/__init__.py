"""Implements the disk ports on the file system, and files outside of the store."""
