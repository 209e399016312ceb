"""Requests of consumers: pulls, pops, acknowledgements, offsets."""
