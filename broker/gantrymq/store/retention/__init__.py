"""Retention: which files are deleted, when the disk is full, and what is refused then."""
