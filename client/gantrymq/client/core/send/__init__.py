"""Sending: tries, batches, choice of queues, messages that wait for others."""
