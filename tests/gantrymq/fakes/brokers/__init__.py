"""Fakes around the broker: requests of made-up clients."""
