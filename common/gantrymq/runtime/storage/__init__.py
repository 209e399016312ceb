"""Implements the disk ports on the file system, and writes files outside of the store."""
