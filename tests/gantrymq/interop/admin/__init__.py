"""Runs mqadmin and `gantry` with the same commands, and compares their output."""
