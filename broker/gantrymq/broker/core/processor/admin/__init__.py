"""Requests of administrators: topics, groups, settings, quotas, statistics."""
