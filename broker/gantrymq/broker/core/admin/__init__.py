"""Requests of administrators: figures, queries, settings and upkeep."""
