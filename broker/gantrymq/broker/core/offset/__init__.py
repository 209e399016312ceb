"""Offsets of consumer groups: commits, requests and resets."""
