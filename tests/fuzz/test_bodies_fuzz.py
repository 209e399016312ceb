"""Fuzzes bodies: each is a value or a RemoteError, in bounded memory and work."""

from __future__ import annotations

import sys
import tracemalloc
import zlib
from collections.abc import Callable

from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.registration import INFLATION_MAX, RegisterBrokerBody
from gantrymq.wire.jsonvalue import Json

Fuzz = Callable[[list[bytes], Callable[[bytes], None]], None]

# The bytes of an object with one member, which is written in six bytes.
MEMORY_FACTOR = 100
MEMORY_FLOOR = 256 << 10
# Calls into Python per byte: a value, its key and the blanks around them may be one byte each.
CALLS_FACTOR = 12
CALLS_FLOOR = 1000
SAMPLE = 50  # measuring is slow, so only one of so many executions is measured


class Bounded:
    """Runs a decoder; of one execution in fifty it measures memory, of another the calls."""

    def __init__(self) -> None:
        self._executions = 0
        self._calls = 0

    def run(self, decode: Callable[[], object], size: int) -> None:
        self._executions += 1
        if self._executions % SAMPLE == 0:
            tracemalloc.start()
            answer(decode)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < MEMORY_FLOOR + MEMORY_FACTOR * size
        elif self._executions % SAMPLE == 1:
            self._calls = 0
            before = sys.getprofile()
            sys.setprofile(self._called)
            answer(decode)
            sys.setprofile(before)
            assert self._calls < CALLS_FLOOR + CALLS_FACTOR * size

    def _called(self, _frame: object, event: str, _argument: object) -> None:
        self._calls += event in ("call", "c_call")


def answer(decode: Callable[[], object]) -> None:
    refusal = ""
    try:
        decode()
    except RemoteError as error:
        refusal = str(error)
    assert len(refusal) < 500


def values_of(golden: dict[str, list[bytes]]) -> list[bytes]:
    odd = [b'{a:{"$ref":"$.b"},b:[{c:{"$ref":"$.d[0]"}},\'x\'],d:[+1.5e3L,{{q:1}:2}]}']
    return odd + [body for bodies in golden.values() for body in bodies if body[:1] in b"{["]


def check_values(*, references: bool) -> Callable[[bytes], None]:
    bounded = Bounded()

    def read(data: bytes) -> Json:
        return javajson.loads(data, values_max=10_000, references=references)

    def check(data: bytes) -> None:
        size = len(data) if not references else len(data) + 10_000
        bounded.run(lambda: read(data), size)
        try:
            value = read(data)
        except RemoteError:
            return
        assert javajson.loads(javajson.dumps_fastjson(value)) == without_endless(value)
        javajson.dumps_standard(value)

    return check


def without_endless(value: Json) -> Json:
    """The value without numbers that JSON cannot express (1e999)."""
    if isinstance(value, dict):
        return {key: without_endless(member) for key, member in value.items()}
    if isinstance(value, list):
        return [without_endless(item) for item in value]
    is_endless = isinstance(value, float) and value in (float("inf"), float("-inf"))
    return None if is_endless else value


def test_json(fuzz: Fuzz, golden_bodies: dict[str, list[bytes]]) -> None:
    fuzz(values_of(golden_bodies), check_values(references=False))


def test_json_with_references(fuzz: Fuzz, golden_bodies: dict[str, list[bytes]]) -> None:
    fuzz(values_of(golden_bodies), check_values(references=True))


def registrations(golden: dict[str, list[bytes]]) -> tuple[list[bytes], list[bytes]]:
    """Registrations as JSON, and the content of compressed ones."""
    bodies = [
        body for name, all_ in golden.items() if "REGISTER_BROKER req" in name for body in all_
    ]
    plain = [body for body in bodies if body.startswith(b"{")]
    streams = [zlib.decompress(body) for body in bodies if body.startswith(b"\x78")]
    assert plain
    assert streams
    return plain, streams


def check_registration(body: bytes, bounded: Bounded, size: int) -> None:
    bounded.run(lambda: RegisterBrokerBody.decode(body, 479), size)
    try:
        decoded = RegisterBrokerBody.decode(body, 479)
    except RemoteError:
        return
    assert RegisterBrokerBody.decode(decoded.encode(), 479) == decoded


def test_json_registrations(fuzz: Fuzz, golden_bodies: dict[str, list[bytes]]) -> None:
    bounded = Bounded()
    fuzz(
        registrations(golden_bodies)[0],
        lambda body: check_registration(body, bounded, len(body)),
    )


def test_compressed_registrations(fuzz: Fuzz, golden_bodies: dict[str, list[bytes]]) -> None:
    bounded = Bounded()

    def check(plain: bytes) -> None:
        """Damage inside the compressed stream, which damage from outside hardly ever leaves
        intact."""
        body = zlib.compress(plain, 1)
        check_registration(body, bounded, len(plain))

    fuzz(registrations(golden_bodies)[1], check)


def test_damaged_streams(fuzz: Fuzz, golden_bodies: dict[str, list[bytes]]) -> None:
    bounded = Bounded()
    streams = [zlib.compress(plain) for plain in registrations(golden_bodies)[1]]
    fuzz(
        streams,
        lambda body: check_registration(b"\x78" + body[1:], bounded, INFLATION_MAX * len(body)),
    )
