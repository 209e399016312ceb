"""Defines rights, actions, callers and refusals."""
