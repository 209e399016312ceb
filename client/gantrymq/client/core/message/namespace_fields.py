"""Adds RocketMQ 5's namespace fields `nsd` and `ns` to requests; names stay unchanged.

The servers interpret the fields. Invariant: the fields are added before a request is signed,
because the signature covers them.
"""

from __future__ import annotations

from typing import final

from gantrymq.wire.command import Command


@final
class NamespaceFields:
    """A request hook that adds the fields."""

    def __init__(self, namespace: str) -> None:
        self._fields = {"nsd": "true", "ns": namespace}

    def before_request(self, address: str, command: Command) -> None:
        del address
        command.ext = {**(command.ext or {}), **self._fields}

    def after_response(self, address: str, command: Command, response: Command) -> None:
        """Do nothing."""
