"""Clients at work through failovers, and the ledger of what they were told."""
