"""Tests that a slave has its master's tables, whichever is Java's, and that mqadmin agrees."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.drivers import MqAdmin
from gantrymq.interop.releases import NEWEST, OLDEST
from gantrymq.interop.servers import (
    Broker,
    JavaBroker,
    NameServer,
    fields,
    gantry_broker,
    gantry_name_server,
)
from gantrymq.interop.wire import Request, parse_fastjson

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

GANTRY, JAVA_4, JAVA_5 = "gantry", OLDEST, NEWEST
UPDATE_OFFSET, ALL_TOPICS, ALL_OFFSETS, UPDATE_GROUP, ALL_GROUPS = 15, 21, 43, 200, 201

# A slave of Java 5.3 copies for the first time after a minute.
COPY_SECONDS = 150.0


@dataclass(frozen=True, slots=True)
class Pair:
    """A master and its slave, both running."""

    name_server: NameServer
    master: Broker
    slave: Broker

    def same(self, code: int, member: str) -> bool:
        """Whether this table of the slave is its master's."""
        return table_of(self.slave, code, member) == table_of(self.master, code, member)


def table_of(broker: Broker, code: int, member: str) -> object:
    """The table without members that only 5.x has."""
    table = fields(fields(parse_fastjson(broker.ask(Request(code)).body))[member])
    return {key: _without_5(value) for key, value in table.items()}


def _without_5(entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    shared = ("perm", "readQueueNums", "order", "retryMaxTimes", "consumeEnable")
    return {key: entry[key] for key in shared if key in entry} or entry


@contextmanager
def pair(folder: Callable[[str], Path], master: str, slave: str) -> Iterator[Pair]:
    with gantry_name_server(folder("namesrv")) as names:
        own = {"brokerName": "pair", "brokerRole": "ASYNC_MASTER", "timerWheelEnable": "true"}
        first = started(master, folder("master"), names, own)
        own = {**own, "brokerRole": "SLAVE", "brokerId": "1"}
        with first, started(slave, folder("slave"), names, own) as second:
            yield Pair(names, first, second)


def started(kind: str, folder: Path, names: NameServer, settings: dict[str, str]) -> Broker:
    if kind == GANTRY:
        return gantry_broker(folder, [names], settings)
    return JavaBroker(kind, folder, [names], settings)


def live(master: Broker) -> None:
    """Give the master entries in each table."""
    master.create_topic("Copied", 3)
    group = json.dumps({"groupName": "Readers", "retryMaxTimes": 7}).encode()
    assert master.ask(Request(UPDATE_GROUP, body=group)).code == 0
    place = {"consumerGroup": "Readers", "topic": "Copied", "queueId": "2", "commitOffset": "0"}
    assert master.ask(Request(UPDATE_OFFSET, place)).code == 0


@pytest.mark.parametrize(
    ("master", "slave"),
    [(JAVA_5, GANTRY), (JAVA_4, GANTRY), (GANTRY, JAVA_5), (GANTRY, JAVA_4), (GANTRY, GANTRY)],
)
def test_a_slave_has_its_masters_tables(
    folder: Callable[[str], Path], master: str, slave: str
) -> None:
    with pair(folder, master, slave) as both:
        live(both.master)
        tables = (
            (ALL_TOPICS, "topicConfigTable"),
            (ALL_GROUPS, "subscriptionGroupTable"),
            (ALL_OFFSETS, "offsetTable"),
        )
        for code, member in tables:
            what = f"the slave's {member} is the master's"
            wait_until(partial(both.same, code, member), what, COPY_SECONDS)
        offsets = fields(table_of(both.slave, ALL_OFFSETS, "offsetTable"))
        assert {"Copied@Readers", "Copied"}.intersection(offsets)


def told(admin: MqAdmin, both: Pair, command: str, *options: str) -> list[str]:
    """The lines of the output, without addresses, times and figures."""
    text = admin.run(both.name_server, command, *options)
    text = re.sub(r"127\.0\.0\.1:\d+", "<address>", text)
    text = re.sub(r"\b(19|20)\d\d-[-\d]+[ ,#:\d]+", "<time>", text)
    text = re.sub(r"\b\d+\.\d+\b|\b\d+\b", "<n>", text)
    return [re.sub(r" +", " ", line).strip() for line in text.splitlines() if line.strip()]


def is_in_sync(admin: MqAdmin, both: Pair) -> bool:
    return any(" OK " in line for line in told(admin, both, "haStatus", "-b", both.master.address))


def test_mqadmin_prints_the_same_about_slaves(
    folder: Callable[[str], Path], admins: Callable[[str], MqAdmin]
) -> None:
    admin = admins(JAVA_5)
    commands = (("clusterList",), ("haStatus", "-b", "{master}"), ("haStatus", "-b", "{slave}"))
    said = []
    for kind in (JAVA_5, GANTRY):
        with pair(folder, kind, kind) as both:
            wait_until(partial(is_in_sync, admin, both), "the slave is in sync", COPY_SECONDS)
            places = {"master": both.master.address, "slave": both.slave.address}
            said.append(
                [
                    told(admin, both, command, *(option.format(**places) for option in options))
                    for command, *options in commands
                ]
            )
    java, ours = said
    assert ours[1:] == java[1:]
    assert [line.split()[:4] for line in ours[0]] == [line.split()[:4] for line in java[0]]
