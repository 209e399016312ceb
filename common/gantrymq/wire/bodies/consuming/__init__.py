"""Defines bodies about consumption: queues, pop, progress and statistics."""
