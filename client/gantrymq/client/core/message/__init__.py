"""Defines messages as applications make and receive them, and their outcomes."""
