"""Looking at a store that nobody runs, and repairing it: what `gantry store` does."""
