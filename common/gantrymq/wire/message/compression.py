"""Compresses and decompresses message bodies, and reads the type from a sysFlag.

    sysFlag    bit 0 says compressed, bits 8-10 the type: 1 LZ4 frame, 2 zstd frame, 3 zlib stream;
               0 means zlib too, from clients that know no other type
    example    body >= 4096 bytes from a Java client: zlib level 5, sysFlag 0x301

The caller bounds decompression: a few bytes can decompress to gigabytes. LZ4 and zstd are imported
at their first use, since most processes never need them.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.wire.message import sys_flag as flags

# The Java client's default (`rocketmq.message.compressLevel`); its LZ4 has no levels.
LEVEL_DEFAULT: Final = 5


class CompressionType(IntEnum):
    """The compression types, numbered as in sysFlag."""

    LZ4 = 1
    ZSTD = 2
    ZLIB = 3


def of(sys_flag: int) -> CompressionType | None:
    """The compression type that a sysFlag names; None if the body is not compressed."""
    if not sys_flag & flags.COMPRESSED:
        return None
    number = (sys_flag & flags.COMPRESSION_MASK) >> flags.COMPRESSION_SHIFT
    if number > CompressionType.ZLIB:
        raise RemoteError(f"sysFlag {sys_flag:#x} names compression type {number}; known are 0..3")
    return CompressionType(number) if number else CompressionType.ZLIB


def mark(sys_flag: int, kind: CompressionType) -> int:
    """The sysFlag of a body compressed with this type."""
    plain = sys_flag & ~flags.COMPRESSION_MASK
    return plain | flags.COMPRESSED | kind << flags.COMPRESSION_SHIFT


def compress(kind: CompressionType, body: bytes, level: int = LEVEL_DEFAULT) -> bytes:
    if kind is CompressionType.ZLIB:
        return zlib.compress(body, level)
    if kind is CompressionType.ZSTD:
        import zstandard  # noqa: PLC0415 - megabytes of memory that most processes never need

        return zstandard.ZstdCompressor(level=level).compress(body)
    from lz4 import frame  # type: ignore[import-untyped]  # noqa: PLC0415 - as above; has no types

    packed: bytes = frame.compress(
        body, block_size=frame.BLOCKSIZE_MAX4MB, block_linked=False, store_size=False
    )
    return packed


def decompress(kind: CompressionType, body: bytes, size_max: int) -> bytes:
    """The decompressed body; RemoteError if it is longer than `size_max`."""
    if kind is CompressionType.ZLIB:
        return _decompress_zlib(body, size_max)
    if kind is CompressionType.ZSTD:
        return _decompress_zstd(body, size_max)
    return _decompress_lz4(body, size_max)


def _decompress_zlib(body: bytes, size_max: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        # One byte more than allowed tells "too large" from "exactly full"; 0 would mean no limit.
        plain = stream.decompress(body, size_max + 1)
    except zlib.error as error:
        raise RemoteError(f"the body is no zlib stream: {error}") from error
    return _checked(plain, complete=stream.eof, size_max=size_max)


def _decompress_lz4(body: bytes, size_max: int) -> bytes:
    from lz4 import frame  # noqa: PLC0415 - as above

    stream = frame.LZ4FrameDecompressor()
    try:
        plain = stream.decompress(body, size_max + 1)
    except RuntimeError as error:
        raise RemoteError(f"the body is no LZ4 frame: {error}") from error
    return _checked(plain, complete=stream.eof, size_max=size_max)


def _decompress_zstd(body: bytes, size_max: int) -> bytes:
    import zstandard  # noqa: PLC0415 - as above

    try:
        # A frame may declare its size (then the library ignores `max_output_size`) or not (-1).
        declared = zstandard.frame_content_size(body)
        if declared > size_max:
            raise RemoteError(f"the body unpacks to {declared} bytes, allowed are {size_max}")
        plain = zstandard.ZstdDecompressor().decompress(body, max_output_size=size_max + 1)
    except zstandard.ZstdError as error:
        raise RemoteError(
            f"the body is no zstd frame, or unpacks to more than {size_max} bytes: {error}"
        ) from error
    return _checked(plain, complete=True, size_max=size_max)


def _checked(plain: bytes, *, complete: bool, size_max: int) -> bytes:
    if len(plain) > size_max:
        raise RemoteError(f"the body unpacks to more than the {size_max} bytes allowed")
    if not complete:
        raise RemoteError("the compressed body ends too early")
    return plain
