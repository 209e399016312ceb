"""Delayed messages: delay levels, timers, and their delivery."""
