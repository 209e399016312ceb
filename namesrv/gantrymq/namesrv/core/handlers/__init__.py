"""Handlers of requests, by who sends them."""
