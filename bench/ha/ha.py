"""Measures replicated sends: a pair of Java's, the same pair of Gantry's, and elected groups.

All groups share a core and are loaded in turns; pairs are stopped while another group is measured.
A round ends when all followers have the messages of the round, so the cost of replication is in its
CPU time. Between two rounds of one kind of send, every other kind has a round with the same load: a
machine with other users may be slow for a minute, which then affects one round of each kind and not
all rounds of one. At the end a follower is killed, its master receives many messages, and the
follower has to catch up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.broker.broker_paces import Pace
from bench.broker.broker_sends import (
    BATCH,
    BODY,
    CLIENT,
    CPU_SUFFIX,
    QUEUES,
    REFUSED_SUFFIX,
    THREADS,
    TOPIC,
    WINDOW,
    Requests,
    write_sends,
)
from bench.broker.load_clients import LoadClient, LoadClients, Sent
from bench.ha.ha_floor import TrivialPair, trivial_pair
from bench.ha.ha_groups import POLL_SECONDS, Group, groups
from bench.load import LoadProgram, Shape
from bench.namesrv.routes import Samples
from bench.namesrv.servers import JAVA
from bench.report import Row
from bench.store.store_workers import scratch
from bench.turns import in_turns

MASTER_SUFFIX: Final = ", of it the master's"
MISSING_SUFFIX: Final = ", answered and in no queue yet"
LAG_SUFFIX: Final = ", until followers have it"
KIB: Final = 1024
# the share of a broker's round length: there are four groups and many kinds of send
SHARE: Final = 0.6
CATCH_UP: Final = "a follower that was away catches up"
CATCH_UP_BYTES: Final = 192 << 20
CATCH_UP_BODY: Final = 64 * KIB
CATCH_UP_SECONDS: Final = 60.0
FILL_SECONDS: Final = 0.5
WARM: Final = Shape(64, 1)
ATTEMPTS: Final = 3
BROKEN_SUFFIX: Final = ", rounds that broke off and were left out: their length"
QUEUES_SECONDS: Final = 5.0  # until the queues have what the log has


def size_text(body: int) -> str:
    """The size of a body, for tables."""
    return f"{body // KIB} KiB" if body >= KIB else f"{body} bytes"


@dataclass(frozen=True, slots=True)
class ClientOrder:
    """A load by Java's own client: `count` threads that each wait for the answer ("sync"), or one
    thread that keeps `count` sends under way ("async")."""

    how: str
    count: int
    body: int

    @property
    def text(self) -> str:
        """The load in words, for tables."""
        load = f"{self.count} threads" if self.how == "sync" else f"{self.count} under way"
        return f"{CLIENT}: sends of {size_text(self.body)}, {load}"


@dataclass(frozen=True, slots=True)
class Order:
    """A load by the load program: so many clients, each with sends of this kind on its connection.

    A client with one send under way waits for its answer. A client with more writes as many new
    sends as were answered, in one write: sends without wake-ups, which show the capacity of a
    group.
    """

    clients: int
    under_way: int = 1
    batch: int = 1
    body: int = KIB

    @property
    def text(self) -> str:
        """The load in words, for tables."""
        what = f"batches of {self.batch}" if self.batch > 1 else "sends"
        load = f"{self.clients} clients" if self.clients > 1 else "1 client"
        if self.under_way > 1:
            load += f", {self.under_way} under way"
        return f"{what} of {size_text(self.body)}, {load}"


# The threads of a RocketMQ client share its connection, so one client here has as many sends under
# way as two of these. The single client, which sends least, comes first in a round, after the last
# and largest load, which leaves much work to finish.
SYNC_ORDERS: Final = (
    Order(1),
    Order(1, THREADS, body=BODY),
    Order(1, THREADS),
    Order(8, 32, body=BODY),
    Order(8, 32),
    Order(64, body=BODY),
    Order(16),
    Order(64),
    Order(256),
    Order(16, batch=BATCH, body=BODY),
    Order(16, batch=BATCH),
    Order(16, body=16 * KIB),
)
ASYNC_ORDERS: Final = (
    Order(1),
    Order(1, THREADS, body=BODY),
    Order(1, THREADS),
    Order(64),
    Order(16, batch=BATCH),
    Order(16, body=16 * KIB),
)
CLIENT_ORDERS: Final = (
    ClientOrder("sync", THREADS, BODY),
    ClientOrder("sync", THREADS, KIB),
    ClientOrder("async", WINDOW, BODY),
    ClientOrder("async", WINDOW, KIB),
)

# Sends to a group, or to the floor, for so many seconds.
Measured = Group | TrivialPair
Send = Callable[[Measured, float], Sent]


def measure_sync(pace: Pace) -> list[Row]:
    """Measure sends that are answered when a follower, or all in-sync followers, have them."""
    with scratch() as folder, groups(folder, "SYNC_MASTER") as running:
        with trivial_pair(folder) as floor:
            rows = _by_program(running, folder, SYNC_ORDERS, pace, {floor.name: floor})
        return rows + _by_clients(running, folder, pace)


def measure_async(pace: Pace) -> list[Row]:
    """Measure sends that are answered before the followers have them, and the catch-up."""
    samples = Samples()
    with scratch() as folder, groups(folder, "ASYNC_MASTER") as running:
        rows = _by_program(running, folder, ASYNC_ORDERS, pace, {})
        requests = write_sends(folder / "fill", body=CATCH_UP_BODY)
        program = LoadProgram(folder)
        for _, name in in_turns(pace.rounds - 1, running):
            _catch_up(samples, running[name], program, requests)
    return rows + samples.rows()


PARTS: Mapping[str, Callable[[Pace], list[Row]]] = {
    "ha-sync": measure_sync,
    "ha-async": measure_async,
}


# ---------------------------------------------------------------- sends


def _by_program(
    running: Mapping[str, Group],
    folder: Path,
    orders: Sequence[Order],
    pace: Pace,
    floor: Mapping[str, TrivialPair],
) -> list[Row]:
    program = LoadProgram(folder)
    warm = write_sends(folder / "warm", body=KIB)
    for _, name in in_turns(1, running):
        group = running[name]
        group.master.create_topic(TOPIC, QUEUES)
        seconds = pace.warm_up_seconds if group.name == JAVA else 1.0
        program.run(group.master.port, warm.path, WARM, seconds)
        group.wait_for_followers()
    sends = {}
    for number, order in enumerate(orders):
        requests = write_sends(folder / f"sends-{number}", body=order.body, batch=order.batch)
        sends[order.text] = _program_sends(program, requests, order)
    return _rounds({**running, **floor}, sends, pace)


def _rounds(
    running: Mapping[str, Measured],
    sends: Mapping[str, Send],
    pace: Pace,
    *clients: Mapping[str, LoadClient],
) -> list[Row]:
    """Run one round of each kind, then the next of each; the order of the groups alternates.

    The first round of each kind does not count: the JVM gets faster with all work it has done, so
    no kind may have the advantage of a later start.
    """
    kept = {what: Samples() for what in sends}
    for number in range(1 + pace.rounds):
        names = [*running][:: 1 if number % 2 else -1]
        in_order = {name: running[name] for name in names}
        for what, send in sends.items():
            for _, name in in_turns(1, in_order, *clients):
                samples = kept[what] if number else Samples()
                seconds = pace.seconds_of(name, counts=number > 0) * SHARE
                _try_round(samples, running[name], what, send, seconds)
    return [row for samples in kept.values() for row in samples.rows()]


def _program_sends(program: LoadProgram, requests: Requests, order: Order) -> Send:
    shape = Shape(order.clients, order.under_way)

    def send(group: Measured, seconds: float) -> Sent:
        load = program.run(group.port, requests.path, shape, seconds)
        refused = load.answers - load.accepted
        messages = load.accepted * order.batch
        return Sent(messages, refused, load.seconds, load.p50_us, load.p99_us, load.max_us)

    return send


def _by_clients(running: Mapping[str, Group], folder: Path, pace: Pace) -> list[Row]:
    """Measure Java's own client; its JVM compiles before a round counts, for every group."""
    masters = {name: group.master for name, group in running.items()}
    with LoadClients(folder).of(masters, "JSON", TOPIC) as clients:
        for _, name in in_turns(1, running, clients):
            clients[name].sent("sync", THREADS, pace.warm_up_seconds, BODY)
        sends = {order.text: _client_sends(clients, order) for order in CLIENT_ORDERS}
        return _rounds(running, sends, pace, clients)


def _client_sends(clients: Mapping[str, LoadClient], order: ClientOrder) -> Send:
    def send(group: Measured, seconds: float) -> Sent:
        return clients[group.name].sent(order.how, order.count, seconds, order.body)

    return send


def _try_round(samples: Samples, group: Measured, what: str, send: Send, seconds: float) -> None:
    """Run a round, and repeat it if it breaks off: on a busy machine members lose their Lease, and
    Java's brokers refuse sends."""
    for _ in range(ATTEMPTS):
        try:
            _round(samples, group, what, send, seconds)
        except (OSError, RuntimeError):
            samples.add(what + BROKEN_SUFFIX, "seconds", group.name, seconds)
        else:
            return


def _round(samples: Samples, group: Measured, what: str, send: Send, seconds: float) -> None:
    group.settle()  # on a busy machine another member may have become master
    before, stored = group.cpu_seconds(), group.stored()
    sent = send(group, seconds)
    behind = group.wait_for_followers()
    queued = _wait_for_queues(group, stored, sent)
    after = group.cpu_seconds()
    messages = max(1, queued)
    of_master, of_all = after[0] - before[0], sum(after) - sum(before)
    name = group.name
    samples.add(what, "messages/s", name, sent.messages / sent.seconds)
    if sent.max_us:  # the load program takes these times only for clients with one send under way
        samples.add(f"{what}: p50", "ms", name, sent.p50_us / 1000)
        samples.add(f"{what}: p99", "ms", name, sent.p99_us / 1000)
    samples.add(what + CPU_SUFFIX, "us", name, of_all / messages * 1e6)
    samples.add(what + CPU_SUFFIX + MASTER_SUFFIX, "us", name, of_master / messages * 1e6)
    samples.add(what + LAG_SUFFIX, "ms", name, behind * 1000)
    if sent.refused:
        samples.add(what + REFUSED_SUFFIX, "answers", name, sent.refused)
    if sent.messages > queued:
        samples.add(what + MISSING_SUFFIX, "messages", name, sent.messages - queued)
    group.end_round()


def _wait_for_queues(group: Measured, before: int | None, sent: Sent) -> int:
    """The number of messages that came into the queues since `before`: those that were answered,
    and those under way at the end. Java's queues follow its log with a delay. The floor has no
    queues."""
    end = time.monotonic() + QUEUES_SECONDS
    while True:
        after = group.stored()
        if before is None or after is None:
            return sent.messages
        if after - before >= sent.messages or time.monotonic() > end:
            return after - before
        time.sleep(POLL_SECONDS)


# ---------------------------------------------------------------- from far behind


def _catch_up(samples: Samples, group: Group, program: LoadProgram, requests: Requests) -> None:
    """Measure a follower from when it has received the first missing bytes until it has all."""
    away = group.followers[0]
    away.kill()
    wanted = group.log_end() + CATCH_UP_BYTES
    while group.log_end() < wanted:
        program.run(group.master.port, requests.path, WARM, FILL_SECONDS)
    away.start()
    first = _bytes_to_copy(group)
    began, cpu = time.monotonic(), sum(group.cpu_seconds())
    group.wait_for_followers()
    seconds = time.monotonic() - began
    cpu = sum(group.cpu_seconds()) - cpu
    samples.add(CATCH_UP, "MB/s", group.name, first / seconds / 1e6)
    samples.add(CATCH_UP + ", CPU a MB", "us", group.name, cpu / first * 1e12)


def _bytes_to_copy(group: Group) -> int:
    """The bytes that the follower lacks when it has received the first of the missing bytes."""
    end = time.monotonic() + CATCH_UP_SECONDS
    while time.monotonic() < end:
        behind = group.behind()
        if behind is not None and behind < CATCH_UP_BYTES:
            return behind
    raise TimeoutError(f"a follower of {group.name} does not copy")
