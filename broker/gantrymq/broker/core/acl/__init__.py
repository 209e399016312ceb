"""Checks requests against accounts and policies, and records refused attempts."""
