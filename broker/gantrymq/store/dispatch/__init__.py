"""Dispatches records of the log to consume queues and index, and deletes the queues of topics."""
