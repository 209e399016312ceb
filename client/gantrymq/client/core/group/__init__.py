"""Manages consumer groups: members, shares of queues, locks and offsets."""
