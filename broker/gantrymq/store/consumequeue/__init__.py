"""Provides the consume queues: their units, files, flushes and the snapshot of a clean stop."""
