"""Provides the index, which finds log positions by topic and key."""
