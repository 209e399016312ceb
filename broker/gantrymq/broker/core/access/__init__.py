"""Accounts, users and policies of one broker, and proofs of forwarded sends."""
