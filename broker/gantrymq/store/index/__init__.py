"""The index: log positions by topic and key."""
