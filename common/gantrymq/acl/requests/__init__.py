"""Defines the rights that each request needs."""
