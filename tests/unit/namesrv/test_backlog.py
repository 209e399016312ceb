"""Long requests wait, in their order, and not without bound."""

from __future__ import annotations

from dataclasses import dataclass

from gantrymq.namesrv.backlog import BYTES_MAX, LONG_BYTES, Backlog
from gantrymq.wire.command import Command

SHORT = Command(105)
LONG = Command(103, body=bytes(LONG_BYTES))


@dataclass(eq=False)
class Sender:
    is_closing: bool = False


class Bench:
    def __init__(self) -> None:
        self.served: list[tuple[Sender, Command]] = []
        self.backlog: Backlog[Sender] = Backlog(lambda *what: self.served.append(what))


def test_only_long_requests_wait() -> None:
    backlog, sender = Bench().backlog, Sender()
    assert backlog.takes(sender, LONG)
    assert not backlog.takes(sender, SHORT)


def test_what_follows_a_long_one_on_its_connection_waits_behind_it() -> None:
    bench, sender, other = Bench(), Sender(), Sender()
    bench.backlog.add(sender, LONG)
    assert bench.backlog.takes(sender, SHORT)
    assert not bench.backlog.takes(other, SHORT)
    bench.backlog.add(sender, SHORT)
    bench.backlog.serve_next()
    assert bench.backlog.takes(sender, SHORT)
    bench.backlog.serve_next()
    assert bench.served == [(sender, LONG), (sender, SHORT)]
    assert bench.backlog.is_empty
    assert not bench.backlog.takes(sender, SHORT)


def test_one_is_served_at_a_time() -> None:
    bench = Bench()
    senders = [Sender(), Sender()]
    for sender in senders:
        bench.backlog.add(sender, LONG)
    bench.backlog.serve_next()
    assert bench.served == [(senders[0], LONG)]
    assert not bench.backlog.is_empty


def test_a_closed_connection_is_not_served() -> None:
    bench, sender = Bench(), Sender()
    bench.backlog.add(sender, LONG)
    sender.is_closing = True
    bench.backlog.serve_next()
    assert bench.served == []
    assert bench.backlog.is_empty


def test_beyond_the_bound_the_oldest_is_served_at_once() -> None:
    bench, sender = Bench(), Sender()
    half = Command(103, body=bytes(BYTES_MAX // 2))
    for _ in range(3):
        bench.backlog.add(sender, half)
    assert bench.served == [(sender, half)]
