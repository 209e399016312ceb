"""Typed request and response headers: a frozen dataclass each, one module for each subject."""
