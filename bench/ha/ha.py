"""Replicated sends: a pair of Java's, one of ours by the same settings, and groups that elect.

They share a core and take turns under the load; pairs stand still while others have theirs.
A round ends when all followers have what was sent in it: what copying costs is in its CPU time.
Between two rounds of a kind of sends lie those of all other kinds by the same load: a machine that
others use too is slow for a minute, and that shall be one round of each kind, not all of one. In
the end a follower is killed, its master takes a lot of messages, and it has to catch up.
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
SHARE: Final = 0.6  # of the rounds of one broker: here are four groups, and many orders
CATCH_UP: Final = "a follower that was away catches up"
CATCH_UP_BYTES: Final = 192 << 20
CATCH_UP_BODY: Final = 64 * KIB
CATCH_UP_SECONDS: Final = 60.0
FILL_SECONDS: Final = 0.5
WARM: Final = Shape(64, 1)
ATTEMPTS: Final = 3
BROKEN_SUFFIX: Final = ", rounds that broke off and were left out: their length"
QUEUES_SECONDS: Final = 5.0  # for queues to have what the log has


def size_text(body: int) -> str:
    """For a table."""
    return f"{body // KIB} KiB" if body >= KIB else f"{body} bytes"


@dataclass(frozen=True, slots=True)
class ClientOrder:
    """What Java's own client does: so many threads wait for their answers ("sync"), or one thread
    keeps so many sends under way ("async")."""

    how: str
    count: int
    body: int

    @property
    def text(self) -> str:
        """For a table."""
        who = f"{self.count} threads" if self.how == "sync" else f"{self.count} under way"
        return f"{CLIENT}: sends of {size_text(self.body)}, {who}"


@dataclass(frozen=True, slots=True)
class Order:
    """So many clients, each with sends of this kind under way on its connection.

    Who has one under way waits for its answer. Who has more sends as many as were answered, in one
    write: a send without wake-ups, which is what a group can take.
    """

    clients: int
    under_way: int = 1
    batch: int = 1
    body: int = KIB

    @property
    def text(self) -> str:
        """For a table."""
        what = f"batches of {self.batch}" if self.batch > 1 else "sends"
        who = f"{self.clients} clients" if self.clients > 1 else "1 client"
        if self.under_way > 1:
            who += f", {self.under_way} under way"
        return f"{what} of {size_text(self.body)}, {who}"


# Threads of a RocketMQ client share its connection, so many as two of these have under way. The
# one client, which asks for least, comes behind the last and largest, which leave much to be done.
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
    """Each message is answered when a follower has it, or all who are in sync."""
    with scratch() as folder, groups(folder, "SYNC_MASTER") as running:
        with trivial_pair(folder) as floor:
            rows = _by_program(running, folder, SYNC_ORDERS, pace, {floor.name: floor})
        return rows + _by_clients(running, folder, pace)


def measure_async(pace: Pace) -> list[Row]:
    """Followers come behind."""
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
    """One of each kind, then again; groups take turns the other way round each time.

    The first of each does not count: Java's machine gets faster by all that it was asked for, so
    that no kind may be the first one.
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
    """Java's own client, whose machine compiles before anything counts, whoever is asked."""
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
    """A machine that is busy otherwise makes members lose their lease, and Java's refuse."""
    for _ in range(ATTEMPTS):
        try:
            _round(samples, group, what, send, seconds)
        except (OSError, RuntimeError):
            samples.add(what + BROKEN_SUFFIX, "seconds", group.name, seconds)
        else:
            return


def _round(samples: Samples, group: Measured, what: str, send: Send, seconds: float) -> None:
    group.settle()  # a machine that has other work may have made another one master
    before, stored = group.cpu_seconds(), group.stored()
    sent = send(group, seconds)
    behind = group.wait_for_followers()
    queued = _wait_for_queues(group, stored, sent)
    after = group.cpu_seconds()
    messages = max(1, queued)
    of_master, of_all = after[0] - before[0], sum(after) - sum(before)
    name = group.name
    samples.add(what, "messages/s", name, sent.messages / sent.seconds)
    if sent.max_us:  # the program times those alone that have one under way
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
    """Messages that came into the queues since then: all that were answered, and those under way at
    the end. Java's come behind its log. The floor does not count them."""
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
    """From when it has got some of it until it has all."""
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
    """What it still lacks when it has the first bytes of what it missed."""
    end = time.monotonic() + CATCH_UP_SECONDS
    while time.monotonic() < end:
        behind = group.behind()
        if behind is not None and behind < CATCH_UP_BYTES:
            return behind
    raise TimeoutError(f"a follower of {group.name} does not copy")
