"""Runs real clients, and the scenarios that they play."""
