"""Measures from the start of a broker's process until it answers, and the memory afterwards.

A broker answers once its store is open, so the time includes opening the log and the queues. Files
are in the page cache. A broker that was killed is started on copies of the files that it left.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.broker.broker_paces import Pace
from bench.broker.broker_reads import fill
from bench.broker.broker_sends import TOPIC, serving
from bench.broker.broker_servers import Broker, cold
from bench.broker.message_requests import sends
from bench.load import LoadProgram
from bench.namesrv.routes import SETTLE_SECONDS, Samples
from bench.report import Row
from bench.store.store_data import copy_store
from bench.store.store_workers import scratch
from bench.turns import in_turns
from gantrymq.interop.wire import connect, decode

BODY: Final = 1024
QUEUES_A_TOPIC: Final = 1000
PIPELINE: Final = 16
SYSTEM_BUSY: Final = 2
REFUSED_MAX: Final = 100_000
START_EMPTY: Final = "start, empty"
START_QUEUES: Final = "start, queues: "
START_KILLED: Final = "start, killed with "
START_CPU_SUFFIX: Final = ", CPU"
IDLE_RSS: Final = "RSS, idle"
RSS_AFTER: Final = "RSS, after "
KEPT_NAME: Final = "left"


def measure_starts(pace: Pace) -> list[Row]:
    samples = Samples()
    for _ in range(pace.start_rounds):
        with scratch() as folder, cold(folder) as brokers:
            for _, name in in_turns(1, brokers):
                broker = brokers[name]
                _start(samples, START_EMPTY, broker)
                time.sleep(SETTLE_SECONDS)
                samples.add(IDLE_RSS, "MiB", broker.name, broker.memory().rss)
                samples.add("PSS, idle", "MiB", broker.name, broker.memory().pss)
    with scratch() as folder:
        _many_queues(samples, folder, pace)
    with scratch() as folder:
        _after_a_kill(samples, folder, pace)
    return samples.rows()


def _start(samples: Samples, what: str, broker: Broker) -> None:
    seconds = broker.start()
    samples.add(what, "s", broker.name, seconds)
    samples.add(what + START_CPU_SUFFIX, "s", broker.name, broker.cpu_seconds())


# ---------------------------------------------------------------- queues


def _many_queues(samples: Samples, folder: Path, pace: Pace) -> None:
    what = f"{START_QUEUES}{pace.queues}"
    with cold(folder) as brokers:
        for _, name in in_turns(1, brokers):
            brokers[name].start()
            _make_queues(brokers[name], pace.queues)
        for _, name in in_turns(pace.start_rounds, brokers):
            brokers[name].stop()
            _start(samples, what, brokers[name])


def _make_queues(broker: Broker, count: int) -> None:
    """Send one message to each queue."""
    for first in range(0, count, QUEUES_A_TOPIC):
        topic = f"bench-queues-{first // QUEUES_A_TOPIC}"
        broker.create_topic(topic, QUEUES_A_TOPIC)
        pour(broker, sends(topic, QUEUES_A_TOPIC, 128, QUEUES_A_TOPIC))


def pour(broker: Broker, frames: bytes) -> None:
    """Store all messages; repeats those that Java refuses because they waited while it created
    files."""
    unsent = list(_frames(frames))
    under_way: dict[int, bytes] = {}
    refused = 0
    with connect(broker.address) as connection:
        while unsent or under_way:
            while unsent and len(under_way) < PIPELINE:
                frame = unsent.pop()
                under_way[decode(frame[4:]).opaque] = frame
                connection.send_bytes(frame)
            answer = connection.receive()
            frame = under_way.pop(answer.opaque)
            if answer.code != 0:
                unsent.append(frame)
                refused += 1
                if answer.code != SYSTEM_BUSY or refused > REFUSED_MAX:
                    raise RuntimeError(f"{broker.name} refuses: {answer.code} {answer.remark}")


def _frames(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        yield data[at:end]
        at = end


# ---------------------------------------------------------------- a full log


def _after_a_kill(samples: Samples, folder: Path, pace: Pace) -> None:
    gib = f"{pace.stored_bytes / 2**30:.3g} GiB"
    with serving(folder) as brokers:
        program = LoadProgram(folder)
        for _, name in in_turns(1, brokers):
            broker = brokers[name]
            fill(broker, program, folder, pace.stored_bytes // BODY, BODY)
            samples.add(RSS_AFTER + gib, "MiB", broker.name, broker.memory().rss)
            samples.add(f"PSS, after {gib}", "MiB", broker.name, broker.memory().pss)
            broker.kill()
        _start_copies(samples, brokers, START_KILLED + gib, pace)


def _start_copies(samples: Samples, brokers: Mapping[str, Broker], what: str, pace: Pace) -> None:
    for broker in brokers.values():
        broker.store.rename(broker.store.with_name(KEPT_NAME))
    for _ in range(pace.start_rounds):
        for broker in brokers.values():
            copy_store(broker.store.with_name(KEPT_NAME), broker.store)
            _start(samples, what, broker)
            broker.wait_for_route(TOPIC)
            broker.kill()
            shutil.rmtree(broker.store)
