"""Decodes and encodes frames with Gantry's codec, by orders on standard input.

`python -m bench.codec.codec_worker` understands the orders of java/CodecWorker.java. Its first line
says whether the hot modules run compiled.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from gantrymq.runtime.speedups import implementations
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader, encode


def main() -> None:
    codec = {word for name, word in implementations().items() if name.startswith("gantrymq.wire.")}
    print("/".join(sorted(codec)), flush=True)
    for line in sys.stdin:
        order, path, *rest = line.split()
        data = Path(path).read_bytes()
        if order == "check":
            print(_check(FrameReader().decode(data)), flush=True)
        else:
            timed = _decode if order == "decode" else _encode
            print(*timed(data, float(rest[0])), flush=True)


def _check(commands: list[Command]) -> str:
    opaques = sum(command.opaque for command in commands)
    fields = sum(len(command.ext or {}) for command in commands)
    return f"{len(commands)} {opaques} {fields} {sum(len(command.body) for command in commands)}"


def _decode(data: bytes, seconds: float) -> tuple[int, float]:
    reader = FrameReader()
    done = 0
    end = time.perf_counter() + seconds
    began = time.process_time()
    while time.perf_counter() < end:
        done += len(reader.decode(data))
    return done, time.process_time() - began


def _encode(data: bytes, seconds: float) -> tuple[int, float]:
    commands = FrameReader().decode(data)
    done = 0
    end = time.perf_counter() + seconds
    began = time.process_time()
    while time.perf_counter() < end:
        for command in commands:
            encode(command)
        done += len(commands)
    return done, time.process_time() - began


if __name__ == "__main__":
    main()
