"""Implements pop consumers, to which brokers deliver single messages."""
