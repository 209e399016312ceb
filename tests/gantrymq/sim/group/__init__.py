"""Histories of whole groups."""
