"""Writes examples of the text files of both servers, by the code that saves these files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.users import table_file
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user import User
from gantrymq.audit.record import Actor, AuditOutcome, audit_record
from gantrymq.base.configuration.properties import format_properties
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.auth import PolicyEntryInfo, PolicyInfo
from gantrymq.wire.bodies.consuming.pops import RequestMode, TopicMode
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.heartbeat import SubscriptionData
from gantrymq.wire.bodies.kv import kv_config_to_json
from gantrymq.wire.bodies.quotas import Quota, QuotaKind, QuotaLimit
from gantrymq.wire.bodies.shared import TopicConfig
from tools.formats import specimen

_TOPIC: Final = "Orders"
_GROUP: Final = "billing"
_MEMORY_BYTES: Final = 1 << 30
_DELAY_OFFSETS: Final = b'{"dataVersion":{"counter":1},"offsetTable":{3:12,5:4}}'
_TIMERS: Final = b'{"delivered":1700000000,"low":12,"taken":40,"rolled":[[40,1700003600]]}'
_ACCOUNTS: Final = b"""accounts:
- accessKey: billing-service
  secretKey: change-this-secret
  topicPerms: [Orders=SUB]
  groupPerms: [billing=SUB]
"""


@cache
def _state() -> State:
    """A broker's state with one entry in each of its tables."""
    state = State(
        BrokerSettings(),
        Identity("broker-a", "DefaultCluster", 0, "10.0.0.1:10911", "10.0.0.1:10912"),
        specimen.opened(),
        chance=lambda _: 0,
        memory_bytes=_MEMORY_BYTES,
        now=0.0,
        wall_ms=specimen.WALL_MS,
    )
    services = Broker(state).services
    state.topics.put(TopicConfig(_TOPIC, 4, 4), specimen.WALL_MS)
    state.groups.put(GroupConfig(group_name=_GROUP), specimen.WALL_MS)
    state.offsets.commit(_GROUP, _TOPIC, 0, 41)
    state.offsets.commit(_GROUP, _TOPIC, 1, 7)
    services.delay_service.load(_DELAY_OFFSETS)
    services.timer_service.load(_TIMERS)
    state.request_modes.put(TopicMode(topic=_TOPIC, consumer_group=_GROUP, mode=RequestMode.POP))
    state.filters.selector(
        _GROUP, SubscriptionData(topic=_TOPIC, sub_string="price > 10", expression_type="SQL92")
    )
    state.in_flight.take(
        (_GROUP, _TOPIC, 1), [7, 8], 9, specimen.WALL_MS, specimen.WALL_MS + 60_000
    )
    state.quotas.put(Quota(QuotaKind.TOPIC, _TOPIC, {QuotaLimit.PRODUCE_BYTES: 1 << 20}))
    services.metadata_replication.lose()
    return state


def _lines(content: bytes) -> Sequence[str]:
    return content.decode().replace("\t", "    ").rstrip("\n").split("\n")


def saved(file: File) -> Sequence[str]:
    """What the broker saves into this file of `config/`."""
    return _lines(_state().files.contents[file]())


def users_example() -> Sequence[str]:
    """A table with one user, whose password is not sealed."""
    entry = PolicyEntryInfo(resource="Topic:Orders", actions=("Sub",), decision="Allow")
    user = User(name="billing", password="change-this")  # noqa: S106 - an example
    policy = PolicyInfo(policy_type="Custom", entries=(entry,))
    table = UserTable.of({user.name: user}, {user.name: [policy]})
    return _lines(table_file.write(table))


def accounts_example() -> Sequence[str]:
    """A file of one account, as a request that changes it leaves it."""
    return _lines(plain_acl.write(plain_acl.read(_ACCOUNTS)))


def overrides_example() -> Sequence[str]:
    """Two settings that were changed at run time."""
    return _lines(
        format_properties({"fileReservedTime": "48", "maxMessageSize": "1048576"}).encode()
    )


def kv_example() -> Sequence[str]:
    """An ordered topic."""
    tables = kv_config_to_json({"ORDER_TOPIC_CONFIG": {_TOPIC: "broker-a:4;broker-b:4"}})
    return _lines(javajson.dumps_fastjson(tables))


def audit_example() -> Sequence[str]:
    """One entry, without the time and the server that stand before it in the file."""
    record = audit_record(
        "topic.update",
        17,
        Actor("10.0.0.7:51234", "operator"),
        AuditOutcome.DONE,
        old={_TOPIC: {"perm": 6}},
        new={_TOPIC: {"perm": 4}},
    )
    return _lines(javajson.dumps_standard(record.to_json()))
