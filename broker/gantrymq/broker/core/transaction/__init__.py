"""Transactions: half messages, decisions, and the check of open ones."""
