"""Implements the disk ports on the file system, and the files that are written outside of the
store."""
