"""Tests compression: Java's bodies, every type in both directions, bombs and damage."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.wire.message import compression, record
from gantrymq.wire.message.compression import CompressionType

VECTORS = Path(__file__).parents[3] / "vectors"
MESSAGES = json.loads((VECTORS / "messages-5.3.3.json").read_text())
COMPRESSED = [item for item in MESSAGES if "plainBodyHex" in item]
KINDS = list(CompressionType)
PLAIN = b"compress me " * 500


def unsized_zstd(body: bytes) -> bytes:
    """A frame that does not declare its size, as Java's stream writes them."""
    stream = zstandard.ZstdCompressor(level=5).compressobj()
    return stream.compress(body) + stream.flush()


@pytest.mark.parametrize("item", COMPRESSED)
def test_reads_javas_bodies(item: dict[str, str]) -> None:
    stored = record.decode(bytes.fromhex(item["hex"]))
    kind = compression.of(stored.sys_flag)
    assert kind is not None
    assert compression.decompress(kind, stored.body, 4096).hex() == item["plainBodyHex"]
    assert compression.mark(0, kind) == stored.sys_flag


@pytest.mark.parametrize("kind", KINDS)
@given(body=st.binary(max_size=500))
def test_bodies_survive_the_round_trip(kind: CompressionType, body: bytes) -> None:
    packed = compression.compress(kind, body)
    assert compression.decompress(kind, packed, len(body)) == body


def test_compressed_frames_have_javas_form() -> None:
    assert compression.compress(CompressionType.ZLIB, PLAIN)[:2].hex() == "785e"  # level 5
    assert compression.compress(CompressionType.LZ4, PLAIN)[:5].hex() == "04224d1860"
    assert compression.compress(CompressionType.ZSTD, PLAIN)[:4].hex() == "28b52ffd"


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_is_refused(kind: CompressionType) -> None:
    packed = compression.compress(kind, bytes(50_000_000))
    with pytest.raises(RemoteError, match="4096"):
        compression.decompress(kind, packed, 4096)


@pytest.mark.parametrize("kind", KINDS)
def test_one_byte_too_many_is_refused(kind: CompressionType) -> None:
    packed = compression.compress(kind, PLAIN)
    assert compression.decompress(kind, packed, len(PLAIN)) == PLAIN
    with pytest.raises(RemoteError):
        compression.decompress(kind, packed, len(PLAIN) - 1)


def test_a_zstd_frame_need_not_declare_its_size() -> None:
    packed = unsized_zstd(PLAIN)
    assert compression.decompress(CompressionType.ZSTD, packed, len(PLAIN)) == PLAIN
    with pytest.raises(RemoteError):
        compression.decompress(CompressionType.ZSTD, packed, len(PLAIN) - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_body_is_refused(kind: CompressionType) -> None:
    packed = compression.compress(kind, PLAIN)
    for cut in range(len(packed)):
        with pytest.raises(RemoteError):
            compression.decompress(kind, packed[:cut], 10_000)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_body_is_refused_or_bounded(kind: CompressionType) -> None:
    packed = compression.compress(kind, PLAIN)
    for position in range(len(packed)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(packed)
            damaged[position] ^= flip
            try:
                plain = compression.decompress(kind, bytes(damaged), 10_000)
            except RemoteError:
                continue
            assert len(plain) <= 10_000


@pytest.mark.parametrize("kind", KINDS)
@given(body=st.binary(max_size=100))
def test_any_bytes_are_refused_or_bounded(kind: CompressionType, body: bytes) -> None:
    try:
        plain = compression.decompress(kind, body, 50)
    except RemoteError:
        return
    assert len(plain) <= 50


@pytest.mark.parametrize(
    ("sys_flag", "kind"),
    [
        (0, None),
        (0x300, None),
        (0x1, CompressionType.ZLIB),
        (0x301, CompressionType.ZLIB),
        (0x101, CompressionType.LZ4),
        (0x20D, CompressionType.ZSTD),
    ],
)
def test_sys_flag_names_the_kind(sys_flag: int, kind: CompressionType | None) -> None:
    assert compression.of(sys_flag) is kind


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(RemoteError, match="type 4"):
        compression.of(0x401)


def test_mark_keeps_the_other_bits() -> None:
    assert compression.mark(0x734, CompressionType.LZ4) == 0x135


def test_libraries_are_not_loaded_before_they_are_needed() -> None:
    code = (
        "import sys, gantrymq.wire.message.compression as c;"
        "c.compress(c.CompressionType.ZLIB, b'x');"
        "sys.exit('lz4' in sys.modules or 'zstandard' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
