"""Measures sends to servers that do nothing: the cost of the system, and of the event loop.

Compare with `broker-send`: no broker costs less than the first server, and none in Python less than
the second.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Final

from bench.broker.broker_paces import Pace
from bench.broker.broker_sends import CPU_SUFFIX, write_sends
from bench.load import CLIENTS, PIPELINES, LoadProgram, Trivial, trivial_server
from bench.namesrv.routes import Samples
from bench.report import Row
from bench.store.store_workers import cpu_clock, scratch

IN_C: Final = "trivial C server"
IN_PYTHON: Final = "trivial uvloop server"
ANSWER_BYTES: Final = 180  # about as long as a Java broker's answer to a send
PROGRAM: Final = Path(__file__).with_name("trivial_server.py")


def measure_floor(pace: Pace) -> list[Row]:
    """Measure both servers, with both shapes."""
    samples = Samples()
    answer = ANSWER_BYTES.to_bytes(4, "big") + bytes(ANSWER_BYTES)
    with scratch() as folder:
        program = LoadProgram(folder)
        frames = write_sends(folder / "sends").path
        servers = {
            IN_C: partial(program.answering, answer, sleeps=True),
            IN_PYTHON: partial(trivial_server, [sys.executable, str(PROGRAM)], answer),
        }
        for shape in (CLIENTS, PIPELINES):
            for _ in range(pace.rounds):
                for name, start in servers.items():
                    with start() as server:
                        before = _cpu_seconds(server)
                        load = program.run(server.port, frames, shape, pace.round_seconds)
                        cpu_us = (_cpu_seconds(server) - before) / load.answers * 1e6
                    what = f"answered unread, JSON: {shape.text}"
                    samples.add(what, "messages/s", name, load.rate)
                    samples.add(what + CPU_SUFFIX, "us", name, cpu_us)
    return samples.rows()


def _cpu_seconds(server: Trivial) -> float:
    return time.clock_gettime(cpu_clock(server.process_id))
