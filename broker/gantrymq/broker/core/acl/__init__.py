"""Access control of the broker."""
