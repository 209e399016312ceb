"""Tests that every message is consumed while members join, leave, die and fail at random."""

from __future__ import annotations

import dataclasses
import random

import pytest

from gantrymq.client.core.flow.flow_steps import Wait
from gantrymq.client.core.message.outcomes import LATER, SUSPEND, Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer
from gantrymq.wire.bodies.shared import MessageQueue

STEPS = 60
MEMBERS_MAX = 4


class Group:
    """A cluster, its members, and what was sent and consumed."""

    def __init__(self, seed: int, *, orderly: bool) -> None:
        self.random = random.Random(seed)
        self.cluster = Cluster("broker-a", "broker-b")
        self.settings = dataclasses.replace(FIRST, orderly=orderly, consume_batch=3)
        self.members: list[Consumer] = []
        self.sent: set[str] = set()
        self.consumed: set[str] = set()
        self.next_offsets: dict[MessageQueue, int] = {}
        self.count = 0
        self.join()

    def join(self) -> None:
        if len(self.members) < MEMBERS_MAX:
            self.count += 1
            client_id = f"c@{self.count}"
            self.members.append(
                Consumer(self.cluster, client_id, self.settings).start(listener=self.listen)
            )

    def leave(self) -> None:
        if len(self.members) > 1:
            self.members.pop(self.random.randrange(len(self.members))).close()

    def die(self) -> None:
        if len(self.members) > 1:
            member = self.members.pop(self.random.randrange(len(self.members)))
            self.cluster.die(member.client.id)

    def send(self) -> None:
        bodies = [f"{len(self.sent) + number}" for number in range(self.random.randrange(1, 40))]
        self.sent.update(bodies)
        self.cluster.store(
            *bodies,
            queue_id=self.random.randrange(4),
            broker_name=self.random.choice(("broker-a", "broker-b")),
        )

    async def listen(self, messages: list[ReceivedMessage]) -> Outcome:
        clock = self.cluster.driver.clock
        queue = messages[0].queue
        if self.settings.orderly:
            assert messages[0].offset <= self.next_offsets.get(queue, 0), "none is passed over"
        if self.random.random() < 0.1:
            await Wait(clock.monotonic() + self.random.random() * 10.0)
        if messages[0].reconsume_times < 2 and self.random.random() < 0.1:
            return SUSPEND if self.settings.orderly else LATER
        self.next_offsets[queue] = messages[-1].offset + 1
        self.consumed.update(message.body.decode() for message in messages)
        return None


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_message_is_lost_while_members_fail(seed: int, *, orderly: bool) -> None:
    group = Group(seed, orderly=orderly)
    for _ in range(STEPS):
        act = group.random.choice((group.send, group.send, group.join, group.leave, group.die))
        act()
        group.cluster.pass_time(group.random.random() * 4.0)
    group.cluster.pass_time(300.0)
    assert group.sent - group.consumed == set()
    assert not any(member.member.stats.last_error for member in group.members)
    cached = sum(each.cached for member in group.members for each in member.member.status())
    assert cached == 0
