"""Checks, lists and repairs a store that no broker has open, for the commands `gantry store`."""
