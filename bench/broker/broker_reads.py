"""Measures how Gantry's broker and Java's serve a backlog, by Java's client and the load program.

Consumers are new groups that start with the first message. The load program requests pieces of 32
messages in any order; a sample is checked beforehand, so that each piece has 32 from both brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.broker.broker_paces import Pace
from bench.broker.broker_sends import BATCH, CPU_SUFFIX, QUEUES, TOPIC, Run, serving, write_sends
from bench.broker.broker_servers import Broker
from bench.broker.load_clients import LoadClient, LoadClients
from bench.broker.message_requests import PULL, pulls
from bench.load import CLIENTS, PIPELINES, LoadProgram
from bench.namesrv.routes import DifferenceError, Samples
from bench.report import Row
from bench.store.store_workers import scratch
from bench.turns import counted, in_turns
from gantrymq.interop.wire import connect, decode

FILL_SECONDS = 1.0
FILL_ROUNDS_MAX = 600
COMPARED = 50
BACKLOG: Final = "Java client, {}: backlog by {}"


def measure_reads(pace: Pace) -> list[Row]:
    """Measure rates, and the broker's cost per message."""
    samples = Samples()
    with scratch() as folder, serving(folder) as brokers:
        program = LoadProgram(folder)
        for _, name in in_turns(1, brokers):
            fill(brokers[name], program, folder, pace.backlog)
        clients = LoadClients(folder)
        for encoding in pace.encodings:
            with clients.of(brokers, encoding, TOPIC) as running:
                _by_clients(samples, brokers, running, encoding, pace)
        for encoding in pace.encodings:
            _by_program(samples, brokers, program, folder, encoding, pace)
    return samples.rows()


def fill(broker: Broker, program: LoadProgram, folder: Path, messages: int, body: int = 128) -> int:
    """Store at least so many messages, in batches; returns their number."""
    requests = write_sends(folder / "fill", body=body, batch=BATCH)
    for _ in range(FILL_ROUNDS_MAX):
        if (stored := broker.stored(TOPIC, QUEUES)) >= messages:
            return stored
        Run(broker, program, requests).send(CLIENTS, FILL_SECONDS)
    raise TimeoutError(f"{broker.name} did not store {messages} messages")


def _by_clients(
    samples: Samples,
    brokers: Mapping[str, Broker],
    clients: Mapping[str, LoadClient],
    encoding: str,
    pace: Pace,
) -> None:
    for how in ("push", "pull"):
        what = BACKLOG.format(encoding, how)
        for number, name in in_turns(pace.rounds + 1, brokers, clients):
            group = f"bench-{how}-{encoding}-{number}"
            before = brokers[name].cpu_seconds()
            took = clients[name].consumed(how, group, pace.backlog, PULL)
            cpu_us = (brokers[name].cpu_seconds() - before) / took.messages * 1e6
            if number:  # the first round is a warm-up
                samples.add(what, "messages/s", name, took.rate)
                samples.add(what + CPU_SUFFIX, "us", name, cpu_us)


def _by_program(
    samples: Samples,
    brokers: Mapping[str, Broker],
    program: LoadProgram,
    folder: Path,
    encoding: str,
    pace: Pace,
) -> None:
    paths = {name: folder / f"pulls-{name}-{encoding}" for name in brokers}
    for _, name in in_turns(1, brokers):
        broker = brokers[name]
        ends = broker.queue_ends(TOPIC, QUEUES)
        frames = pulls(TOPIC, ends, binary=encoding == "binary")
        _compare(broker, frames)
        paths[name].write_bytes(b"".join(frames))
        program.run(broker.port, paths[name], PIPELINES, pace.warm_up_seconds / 2)
    for shape in (CLIENTS, PIPELINES):
        what = f"load program, {encoding}: pulls of {PULL}, {shape.text}"
        for counts, name in counted(pace.rounds, brokers):
            broker = brokers[name]
            before = broker.cpu_seconds()
            seconds = pace.seconds_of(name, counts=counts)
            load = program.run(broker.port, paths[name], shape, seconds)
            messages = load.answers * PULL
            cpu_us = (broker.cpu_seconds() - before) / messages * 1e6
            if not counts:
                continue
            samples.add(what, "messages/s", name, messages / load.seconds)
            samples.add(what + CPU_SUFFIX, "us", name, cpu_us)
            size = load.bytes / load.answers
            samples.add(f"{what}, size of an answer", "B", name, size)


def _compare(broker: Broker, frames: list[bytes]) -> None:
    """Check for a sample that each request brings the messages that the load program assumes."""
    with connect(broker.address) as connection:
        for frame in frames[:: max(1, len(frames) // COMPARED)]:
            connection.send_bytes(frame)
            answer = connection.receive()
            if answer.code != 0 or count_messages(answer.body) != PULL:
                raise DifferenceError(
                    f"{broker.name} gives {count_messages(answer.body)} messages, not {PULL}:"
                    f" {answer.code} {answer.remark} to {decode(frame[4:]).ext}"
                )


def count_messages(records: bytes) -> int:
    """The number of whole records, each of which begins with its length."""
    count = at = 0
    while at < len(records):
        at += int.from_bytes(records[at : at + 4], "big")
        count += 1
    return count
