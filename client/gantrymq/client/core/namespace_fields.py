"""Namespaces of 5.x: requests say theirs in two fields, `nsd` and `ns`, and names stay as they are.

What becomes of it is the servers' affair. Invariant: the fields are there before a request is
signed, as signatures cover them.
"""

from __future__ import annotations

from typing import final

from gantrymq.wire.command import Command


@final
class NamespaceFields:
    """A request hook."""

    def __init__(self, namespace: str) -> None:
        self._fields = {"nsd": "true", "ns": namespace}

    def before_request(self, address: str, command: Command) -> None:
        del address
        command.ext = {**(command.ext or {}), **self._fields}

    def after_response(self, address: str, command: Command, response: Command) -> None:
        """Nothing is to be done."""
