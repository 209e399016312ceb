"""Pulls, pull consumers, and topics that are read without a group."""
