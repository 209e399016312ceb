"""Parses the body of a watch: one JSON object a line, in pieces that may end anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.kube.errors import ApiError, ExpiredError, UnavailableError
from gantrymq.operator.plan.actions import Json

# etcd accepts requests of 1.5 MiB; a line is one object in JSON, with managedFields.
LINE_BYTES_MAX: Final = 8 << 20
_GONE: Final = 410


@final
@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event of a watch. Its type is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Json

    @property
    def version(self) -> str:
        """The resourceVersion from which a watch that broke off is resumed."""
        return str(self.object.get("metadata", {}).get("resourceVersion", ""))


@final
class WatchLines:
    """Splits the pieces of one watch's body into lines."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def decode(self, piece: bytes) -> Iterator[WatchEvent]:
        """Yield the events that this piece completes. Raises ExpiredError or UnavailableError if
        the API ends the watch."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > LINE_BYTES_MAX:
            raise UnavailableError(f"a line of a watch exceeds {LINE_BYTES_MAX} bytes")
        for line in lines:
            if line.strip():
                yield _parse(line)


def _parse(line: bytes) -> WatchEvent:
    try:
        content = json.loads(line)
        event = WatchEvent(content["type"], content["object"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnavailableError(f"a line of a watch is not an event: {line[:200]!r}") from error
    if event.type == "ERROR":
        raise _ended(event.object)
    return event


def _ended(status: Json) -> ApiError:
    code, message = status.get("code", 0), str(status.get("message", ""))
    text = f"the API ended the watch: {message}"
    if code == _GONE:
        return ExpiredError(text, status=code, reason=str(status.get("reason", "")))
    return UnavailableError(text, status=code, reason=str(status.get("reason", "")))
