"""Typed bodies of requests and responses, one module a theme."""
