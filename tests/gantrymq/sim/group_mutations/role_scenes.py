"""Scenes around a change of the master: the group's address, its lease, and ordered locks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final, final

from gantrymq.sim.group.group_callers import Caller
from gantrymq.sim.group.group_clients import QUEUES, TOPIC
from gantrymq.sim.group.group_scenes import (
    ELECTED_SECONDS,
    WELL_SECONDS,
    is_led_on,
    kill_for_good,
    master,
    run,
    until,
    well,
)
from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.group.group_world import Life, Place
from gantrymq.sim.nodes.group_api import Health
from gantrymq.sim.nodes.group_node import Node, address
from gantrymq.wire import javajson
from gantrymq.wire.bodies.locks import LockedQueues, QueuesOfClient
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.version import OWN_VERSION

GUARD_SECONDS: Final = 6.0
FIRST_ORDERLY: Final = 240
# The longest that a slow API takes.
LATE_SECONDS: Final = 3.0
# Tables go to followers once a second.
CARRIED_SECONDS: Final = 2.0


def address_published_late(seed: int) -> None:
    """What a master wrote of the group's address arrives when the next one leads already."""
    group = well(seed, 3)
    old, is_led = master(group), is_led_on(group)
    kill_for_good(old)
    run(group, LATE_SECONDS)
    group.leases.api.health = Health.SLOW
    until(group, is_led, 2 * ELECTED_SECONDS)
    run(group, 0.05)
    group.leases.api.health = Health.WELL
    until(group, lambda: len(_in_sync(group)) > 1, WELL_SECONDS)
    (other,) = (number for number in _in_sync(group) if number != master(group).number)
    is_led = is_led_on(group)
    group.leases.change_requests(
        lambda operator_requests: replace(operator_requests, switch_to=other, number=1)
    )
    until(group, is_led, WELL_SECONDS)
    run(group, LATE_SECONDS)
    lease = group.leases.lease
    assert lease is not None
    assert group.leases.endpoint == (lease.epoch, address(lease.holder))


def _in_sync(group: Group) -> frozenset[int]:
    lease = group.leases.lease
    return frozenset() if lease is None else lease.in_sync


def guarded_restart(seed: int) -> None:
    """The master's process dies, its guard gives the lease away, and it is started at once: no
    broker that lives loses its lease by that."""
    group = well(seed, 3)
    old, before, is_led = master(group), group.checks.epoch, is_led_on(group)
    old.reaped = group.reap
    old.restart_seconds = (0.05, 0.05)
    old.kill()
    until(group, is_led, ELECTED_SECONDS)
    run(group, GUARD_SECONDS)
    assert group.checks.epoch == before + 1, "a living broker's lease was given away"


def old_master_registers_late(seed: int) -> None:
    """A master's machine is suspended while the next one is elected. It goes on, believes in its
    epoch until its lease is over by its own clock, and registers once more."""
    group = well(seed, 3)
    old, is_led = master(group), is_led_on(group)
    old.place.pause(ELECTED_SECONDS, stops_clocks=True)
    until(group, is_led, ELECTED_SECONDS)
    run(group, LATE_SECONDS)
    old.place.wake()
    process = old.process
    assert process is not None
    process.enter(process.register)
    run(group, LATE_SECONDS)


@final
class Orderly:
    """A consumer that locks queues."""

    def __init__(self, group: Group, index: int) -> None:
        self._group = group
        self._name = f"orderly {index}"
        world = group.world
        place = Place(world, FIRST_ORDERLY + index, self._name, world.random(self._name), 0.0)
        self._caller = Caller(place, Life(), group.network, group.directory)

    def lock(self, node: Node, queue_ids: Collection[int]) -> frozenset[int]:
        """Ask this broker for queues; which of them are this consumer's."""
        queues = tuple(MessageQueue(TOPIC, "broker-a", each) for each in queue_ids)
        asked = QueuesOfClient(client_id=self._name, consumer_group="ordered", queues=queues)
        body = javajson.dumps_fastjson(asked.to_json())
        command = Command(RequestCode.LOCK_BATCH_MQ, body=body, version=OWN_VERSION)
        answers: list[Command | str] = []
        self._caller.ask(address(node.number), command, 1.0, answers.append)
        until(self._group, lambda: bool(answers), 2.0)
        (answer,) = answers
        assert isinstance(answer, Command), answer
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        return frozenset(
            each.queue_id for each in LockedQueues.from_json(javajson.loads(answer.body)).queues
        )


def orderly_consumer_and_failover(seed: int) -> None:
    """A consumer holds a lock that all members know, and one that the master alone does, when the
    master ends: no other consumer is given either of them by the next one."""
    group = well(seed, 3)
    first, second = Orderly(group, 1), Orderly(group, 2)
    carried, fresh = {0}, set(range(1, QUEUES))
    assert first.lock(master(group), carried) == carried
    run(group, CARRIED_SECONDS)
    assert first.lock(master(group), fresh) == fresh
    is_led = is_led_on(group)
    kill_for_good(master(group))
    until(group, is_led, ELECTED_SECONDS)
    assert second.lock(master(group), carried | fresh) == frozenset()
    assert first.lock(master(group), carried) == carried


ROLE_SCENES: Final[Mapping[str, Callable[[int], None]]] = {
    "address published late": address_published_late,
    "guarded restart": guarded_restart,
    "old master registers late": old_master_registers_late,
    "orderly consumer and failover": orderly_consumer_and_failover,
}
