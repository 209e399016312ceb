"""Typed bodies of requests and responses, one module for each subject."""
