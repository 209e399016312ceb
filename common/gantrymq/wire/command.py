"""Defines RemotingCommand, the one envelope of RocketMQ's remoting protocol.

A command is a request or (flag bit 0) a response; bit 1 marks a oneway request that must never be
answered. `ext` holds the header fields, all of them strings; None and {} differ on the wire (JSON
omits a null map). A command remembers the encoding of its header, so that the response uses the
encoding of the request.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final

FLAG_RESPONSE: Final = 1
FLAG_ONEWAY: Final = 2


class Encoding(IntEnum):
    """How a header is written; the top byte of a frame's second word."""

    JSON = 0
    BINARY = 1


@final
class Command:
    """One decoded frame. Hot, hence slotted and not frozen; treat it as immutable all the same."""

    __slots__ = (
        "body",
        "code",
        "encoding",
        "ext",
        "flag",
        "header_bytes",
        "language",
        "opaque",
        "remark",
        "version",
    )

    def __init__(
        self,
        code: int,
        *,
        opaque: int = 0,
        flag: int = 0,
        language: int = 0,
        version: int = 0,
        remark: str | None = None,
        ext: dict[str, str] | None = None,
        body: bytes = b"",
        encoding: int = 0,
    ) -> None:
        self.code: int = code
        self.opaque: int = opaque
        self.flag: int = flag
        self.language: int = language
        self.version: int = version
        self.remark: str | None = remark
        self.ext: dict[str, str] | None = ext
        self.body: bytes = body
        self.encoding: int = encoding
        self.header_bytes: int = 0
        """The length of the header in which the command came; not part of its content."""

    @property
    def is_response(self) -> bool:
        return (self.flag & FLAG_RESPONSE) != 0

    @property
    def is_oneway(self) -> bool:
        return (self.flag & FLAG_ONEWAY) != 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Command):
            return NotImplemented
        return (
            self.code == other.code
            and self.opaque == other.opaque
            and self.flag == other.flag
            and self.language == other.language
            and self.version == other.version
            and self.remark == other.remark
            and self.ext == other.ext
            and self.body == other.body
            and self.encoding == other.encoding
        )

    __hash__ = None  # type: ignore[assignment]  # mutable: must not become a key by accident

    def __repr__(self) -> str:
        return (
            f"Command(code={self.code}, opaque={self.opaque}, flag={self.flag}, "
            f"language={self.language}, version={self.version}, remark={self.remark!r}, "
            f"ext={self.ext!r}, body=<{len(self.body)} bytes>, encoding={self.encoding})"
        )
