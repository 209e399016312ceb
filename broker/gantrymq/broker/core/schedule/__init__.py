"""Delayed messages: delay levels, and timers for any moment."""
