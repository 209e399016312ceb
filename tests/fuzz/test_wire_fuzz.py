"""Fuzzes the decoders: each input is a command or a RemoteError, in bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

from gantrymq.base.errors import RemoteError
from gantrymq.wire import frames, header_binary, header_json, header_scan
from gantrymq.wire.command import Command

Fuzz = Callable[[list[bytes], Callable[[bytes], None]], None]
Decode = Callable[[bytes, int, int], Command]

# A dict entry of two short strings, which costs the most memory for a few bytes of a header.
MEMORY_FACTOR = 100
MEMORY_FLOOR = 64 << 10
MEMORY_SAMPLE = 50  # measuring is slow, so only one of so many executions is measured


def headers_of(golden: list[bytes], encoding: int) -> list[bytes]:
    return [frame[8 : 8 + (frame[6] << 8 | frame[7])] for frame in golden if frame[4] == encoding]


def read_all(stream: bytes, step: int) -> tuple[list[Command], str, int]:
    """The commands that a reader makes of a stream in pieces of this size."""
    reader = frames.FrameReader(frame_bytes_max=1 << 16)
    commands = []
    for position in range(0, len(stream), step):
        commands += reader.decode(stream[position : position + step])
        assert reader.buffered_bytes <= min(len(stream), 1 << 16)
    return commands, str(reader.failure), reader.buffered_bytes


def test_frames(fuzz: Fuzz, golden_frames: list[bytes]) -> None:
    def check(stream: bytes) -> None:
        whole = read_all(stream, len(stream) + 1)
        assert read_all(stream, 1 + len(stream) % 97) == whole
        for command in whole[0]:
            again = frames.FrameReader().decode(frames.encode(command))
            assert again == [command]

    fuzz(golden_frames, check)


def header_check(decode: Decode, encode: Callable[[Command], bytes]) -> Callable[[bytes], None]:
    executions = 0

    def answer(header: bytes) -> Command | None:
        try:
            return decode(header, 0, len(header))
        except RemoteError as error:
            refusal = str(error)
        assert len(refusal) < 500
        return None

    def check(header: bytes) -> None:
        nonlocal executions
        executions += 1
        if executions % MEMORY_SAMPLE == 0:
            tracemalloc.start()
            answer(header)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < MEMORY_FLOOR + MEMORY_FACTOR * len(header)
        command = answer(header)
        if command is not None:
            encoded = encode(command)
            assert decode(encoded, 0, len(encoded)) == command

    return check


def test_json_headers(fuzz: Fuzz, golden_frames: list[bytes]) -> None:
    fuzz(headers_of(golden_frames, 0), header_check(header_json.decode, header_json.encode))


def test_binary_headers(fuzz: Fuzz, golden_frames: list[bytes]) -> None:
    fuzz(headers_of(golden_frames, 1), header_check(header_binary.decode, header_binary.encode))


def test_both_json_readers_agree(fuzz: Fuzz, golden_frames: list[bytes]) -> None:
    def check(header: bytes) -> None:
        quick = header_scan.scan(header, 0, len(header))
        if quick is not None:
            assert quick == header_json.parse(header)

    fuzz(headers_of(golden_frames, 0), check)
