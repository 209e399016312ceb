"""Provides administration requests to name servers and brokers, one class per subject."""
