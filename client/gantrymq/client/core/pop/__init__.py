"""Pops: the broker hands out messages one by one."""
