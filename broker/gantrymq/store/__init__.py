"""The store: one log for all queues, the queues and the index made from it, and what survives."""
