"""Provides brokers for tests, and requests of simulated clients."""
