"""Defines typed request and response headers: a frozen dataclass each, one module per subject."""
