"""Checks requests of a broker against its access rules, and records refused attempts.

The package `access` beside it holds the rules.
"""
