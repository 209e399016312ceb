"""Runs the broker's work: tasks of several turns, files to write, admission and memory."""
