"""Encodes and decodes records and send requests, and checks messages before they are put."""
