"""Reads settings from .properties texts and variables, and decides which may change."""
