"""Reads messages without blocking the event loop: pulls, lookups, and the tasks that run them.

`AsyncReader` runs the tasks; pull.py and lookups.py are what the broker reads with.
"""
