"""Consume queues: units, files, flushes and snapshots."""
