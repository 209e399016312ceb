"""Deletes old files, watches the space on disk, and decides when the store refuses messages."""
