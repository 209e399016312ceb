"""Histories of a store."""
