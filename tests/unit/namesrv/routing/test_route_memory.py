"""What registrations take of a name server's memory account."""

from __future__ import annotations

from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.fakes.brokers.namesrv import Broker, Desk
from gantrymq.namesrv.core.routing.route_memory import BROKER_BYTES, QUEUE_BYTES, TOPIC_BYTES

MASTER = Broker(topics=("T", "U"))


def account(routes_bytes: int) -> MemoryAccount:
    made = MemoryAccount(routes_bytes * 2, share_min=1)
    assert made.limit_of(Kind.ROUTES) == routes_bytes
    return made


def test_topics_placements_and_brokers_are_counted() -> None:
    memory = account(1 << 20)
    desk = Desk(memory=memory)
    desk.registered(MASTER)
    desk.core.state.route_memory.count()
    assert memory.held_of(Kind.ROUTES) == 2 * TOPIC_BYTES + QUEUE_BYTES + BROKER_BYTES


def test_topics_beyond_the_share_are_refused_and_known_ones_go_on() -> None:
    size = BROKER_BYTES + 3 * TOPIC_BYTES + QUEUE_BYTES
    desk = Desk(memory=account(size))
    desk.registered(MASTER)
    answer = desk.register(MASTER.newer(topics=("T", "U", "V", "W", "X")))
    assert answer.code != 0
    assert "routes for all connections takes" in (answer.remark or "")
    assert "maxPeerMemory=" in (answer.remark or "")
    assert "V" not in desk.core.state.routes.topics
    desk.registered(MASTER.newer(topics=("U", "T")))


def test_a_broker_that_ends_gives_its_memory_back() -> None:
    memory = account(1 << 20)
    desk = Desk(memory=memory)
    desk.registered(MASTER)
    desk.core.closed(MASTER.channel, desk.now)
    desk.core.expire(desk.now)
    assert memory.held_of(Kind.ROUTES) == 0
