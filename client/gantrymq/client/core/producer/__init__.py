"""Producers: settings, transactions, and messages as questions."""
