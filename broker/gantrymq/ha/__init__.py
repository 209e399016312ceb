"""Replication: what a master and those that follow it say to each other, and what each believes."""
