"""Typed request and response headers: one frozen dataclass a header, one module a theme."""
