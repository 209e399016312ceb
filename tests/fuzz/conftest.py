"""Fuzzing: mutations of what real peers sent, for FUZZ_SECONDS a target (10 unless said).

A run draws its seed afresh and says it; FUZZ_SEED repeats one. An input that breaks a property is
printed in hexadecimal.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[1] / "vectors"
SECONDS = float(os.environ.get("FUZZ_SECONDS", "10"))
# Numbers for wrong lengths, in two and in four bytes.
LENGTHS = [
    number.to_bytes(size, "big", signed=True)
    for size in (2, 4)
    for number in (-(1 << (8 * size - 1)), -1, 0, 1, 4, 255, (1 << (8 * size - 1)) - 1)
]
TOKENS = [
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b",",
    b":",
    b"\\u",
    b"\\ud800",
    b"null",
    b"-0",
    b"1e9",
    b"\xc3",
]

Check = Callable[[bytes], None]
Fuzz = Callable[[list[bytes], Check], None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # the run may have a low priority beside others
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(SECONDS + 600))


@pytest.fixture(scope="session")
def golden_frames() -> list[bytes]:
    """Frames of real Java peers, both header encodings."""
    vectors = json.loads((VECTORS / "remoting-5.3.3.json").read_text())["vectors"]
    return [bytes.fromhex(vector["frame"]) for vector in vectors]


@pytest.fixture(scope="session")
def golden_bodies() -> dict[str, list[bytes]]:
    """Bodies of real Java peers and name servers' files, by name."""
    bodies: dict[str, list[bytes]] = {}
    for release in ("5.3.3", "4.9.8"):
        for vector in json.loads((VECTORS / f"bodies-{release}.json").read_text()):
            texts = [vector[form].encode() for form in ("json", "jsonStandard") if form in vector]
            texts += [bytes.fromhex(vector["hex"])] if "hex" in vector else []
            bodies.setdefault(vector["name"], []).extend(texts)
    return bodies


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Fuzz:
    """Run a check on mutations of the seeds until the time is over."""
    seed = int(os.environ.get("FUZZ_SEED", secrets.randbits(32)))

    def run(corpus: list[bytes], check: Check) -> None:
        rng = random.Random(seed)
        executions = 0
        started = time.monotonic()
        while (elapsed := time.monotonic() - started) < SECONDS:
            for _ in range(100):
                data = mutated(rng, corpus)
                try:
                    check(data)
                except BaseException as error:
                    error.add_note(f"FUZZ_SEED={seed} execution={executions} input={data.hex()}")
                    raise
                executions += 1
        rate = executions / elapsed
        sys.stdout.write(
            f"\n{request.node.name}: {executions} executions, {rate:.0f}/s, seed {seed}\n"
        )

    return run


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> Iterator[random.Random]:
    """A source of random numbers for each round, until the time is over; at least one."""
    seed = int(os.environ.get("FUZZ_SEED", secrets.randbits(32)))
    started = time.monotonic()

    def sources() -> Iterator[random.Random]:
        number = 0
        while not number or time.monotonic() - started < SECONDS:
            sys.stdout.write(f"\n{request.node.name}: FUZZ_SEED={seed + number}\n")
            yield random.Random(seed + number)
            number += 1

    return sources()


def mutated(rng: random.Random, corpus: list[bytes]) -> bytes:
    data = bytearray(b"".join(rng.choices(corpus, k=rng.choice((1, 1, 1, 2, 4)))))
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        position = rng.randrange(len(data) + 1)
        end = min(len(data), position + rng.choice((0, 1, 2, 4, 16, 100)))
        kind = rng.randrange(7)
        if kind == 0:
            data[position:end] = rng.randbytes(end - position)
        elif kind == 1:
            data[position:position] = rng.randbytes(rng.choice((1, 2, 4, 50)))
        elif kind == 2:
            del data[position:end]
        elif kind == 3:
            data[position:position] = data[position:end] * rng.choice((1, 2, 50))
        elif kind == 4:
            lie = rng.choice(LENGTHS)
            data[position : position + len(lie)] = lie
        elif kind == 5:
            data[position:position] = rng.choice(TOKENS)
        elif position < len(data):
            data[position] ^= 1 << rng.randrange(8)
    return bytes(data)
