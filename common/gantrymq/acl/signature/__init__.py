"""Signatures of requests, certificates that stand for accounts, and the throttle of wrong ones."""
