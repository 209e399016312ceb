"""Dispatch: from the log to queues, the index and the readers that wait; deleted topics."""
