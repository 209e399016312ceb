"""Defines typed bodies of requests and responses, one module per subject."""
