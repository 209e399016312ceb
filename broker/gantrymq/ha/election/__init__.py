"""Decides which member becomes master, and until when it may acknowledge."""
