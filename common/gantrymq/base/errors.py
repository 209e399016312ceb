"""Who is to blame: the roots of every exception the product raises on purpose.

Inside a core everything raises `LocalError` (we were called wrongly) or `RemoteError` (the peer
sent nonsense). Whether a request is *refused* is not an exception: refusals are values.
"""

from __future__ import annotations


class GantryError(Exception):
    """Root of all errors raised on purpose. Its text says what, why and what to do."""


class LocalError(GantryError):
    """This program misused an interface; the peer is innocent."""


class RemoteError(GantryError):
    """The peer sent something that the protocol does not allow; the connection ends."""


class ConfigurationError(GantryError):
    """A setting cannot be used; the text names the setting, its value and its source."""


class CorruptionError(GantryError):
    """Bytes at rest are not what was written; the text names the file and the position."""
