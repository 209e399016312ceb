"""Checks and repairs a store that no broker has open: the commands `gantry store`."""
