"""Generates and runs histories of a store."""
