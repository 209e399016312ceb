"""Implements push consumers, which call listeners for messages."""
