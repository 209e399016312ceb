"""Decides what a read takes, in which ranges and tasks, from values alone: no I/O, no clock."""
