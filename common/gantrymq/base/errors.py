"""Defines the root classes of all exceptions that the product raises on purpose.

A core raises `LocalError` (the caller misused it) or `RemoteError` (the peer sent invalid data). A
*refused* request is not an exception: refusals are values.
"""

from __future__ import annotations


class GantryError(Exception):
    """Root of all errors raised on purpose. Its text says what failed, why, and what to do."""


class LocalError(GantryError):
    """This program misused an interface; the peer is not at fault."""


class RemoteError(GantryError):
    """The peer sent data that the protocol does not allow; the connection ends."""


class ConfigurationError(GantryError):
    """A setting cannot be used; the text names the setting, its value and its source."""


class CorruptionError(GantryError):
    """Stored bytes are not those that were written; the text names the file and the position."""
