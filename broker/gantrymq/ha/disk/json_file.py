"""Reads and writes the small files of a member that hold one JSON object.

    file    magic 4 | crc32 of the rest 4 | JSON object

A file is replaced as a whole and is on the disk when `write` returns (store/files/atomic_file.py).
A file with a wrong checksum or content is refused, with a message that says what the file is for
and what the operator does about it: a member that lost its state could acknowledge messages that
other members do not have.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, final

from gantrymq.base.disk import Disk
from gantrymq.base.errors import RemoteError
from gantrymq.store.files import atomic_file
from gantrymq.store.layout import StoreRefusedError
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import JsonObject, object_of

_T = TypeVar("_T")

_CRC_BYTES = 4


@final
@dataclass(frozen=True, slots=True)
class JsonFile:
    """The format of one kind of file."""

    path: str
    magic: bytes
    bytes_max: int
    """The maximum size of the whole file; a longer file is refused, like one with a wrong
    checksum."""
    advice: str
    """What the file contains and what an operator does when it is damaged."""

    def encode(self, fields: JsonObject) -> bytes:
        body = javajson.dumps_standard(fields)
        return self._head(body) + body

    def decode(self, data: bytes, parse: Callable[[JsonObject], _T]) -> _T:
        """The object as converted by `parse`. Raises StoreRefusedError if the checksum is wrong or
        `parse` raises RemoteError or ValueError."""
        size = len(self.magic) + _CRC_BYTES
        if data[:size] != self._head(data[size:]):
            raise self._damaged("its checksum is wrong")
        try:
            return parse(object_of(javajson.loads(data[size:]), self.path))
        except (RemoteError, ValueError) as error:
            raise self._damaged(str(error)) from error

    def read(self, disk: Disk, parse: Callable[[JsonObject], _T]) -> _T | None:
        """None if the file does not exist."""
        data = atomic_file.content(disk, self.path, self.bytes_max)
        return None if data is None else self.decode(data, parse)

    def write(self, disk: Disk, fields: JsonObject) -> None:
        """Replace the file; it is on the disk when this returns."""
        atomic_file.replace(disk, self.path, self.encode(fields))

    def _head(self, body: bytes) -> bytes:
        return self.magic + zlib.crc32(body).to_bytes(_CRC_BYTES, "big")

    def _damaged(self, how: str) -> StoreRefusedError:
        return StoreRefusedError(f"{self.path} is damaged ({how}): {self.advice}")
