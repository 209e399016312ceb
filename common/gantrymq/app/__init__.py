"""Provides the `gantry` command and the programs that it starts."""
