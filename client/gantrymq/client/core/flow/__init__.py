"""Flows: coroutines that wait for the steps of the core."""
