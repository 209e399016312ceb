"""Programs: the `gantry` command and what it starts."""
