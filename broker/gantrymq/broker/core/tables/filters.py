"""Keeps the SQL92 filters of consumer groups, in config/consumerFilter.json.

    {"filterDataByTopic":{topic:{"groupFilterData":{group:FILTER},"topic":topic}}}
    FILTER  {"bloomFilterData":{...},"bornTime":ms,"clientVersion":n,"consumerGroup":group,"dead":b,
            "deadTime":ms,"expression":text,"expressionType":"SQL92","topic":topic}

A filter is the expression of a group's last heartbeat for a topic. It is compiled when the group's
first pull comes. The file has RocketMQ's layout, for RocketMQ and for administrators: this broker
does not need it to start. Bloom filters that RocketMQ may have added are preserved; without them
RocketMQ compiles the filters anew, as this broker does.

Invariants: an expression that cannot be compiled is not kept. A filter that no member of the group
subscribes with is marked as dead at the next write of the file. It is removed a day later, or
earlier when there are too many filters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.context import Context
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.sql92.selector import Selector, selector_of
from gantrymq.broker.core.tables.clients import Clients
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import SubscriptionData
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    long_field,
    object_of,
    required_text_field,
    text_field,
)

# As in RocketMQ.
SAVE_SECONDS: Final = 10.0
DEAD_MS_MAX: Final = 24 * 3_600_000

# A character takes up to 120 bytes when it is compiled: 250 MB in all.
FILTERS_MAX: Final = 10_000
CHARACTERS_MAX: Final = 2_000_000


@final
@dataclass(slots=True)
class Filter:
    """The filter of one group for one topic. It is alive while `dead_ms` is below `born_ms`."""

    group: str
    topic: str
    expression: str
    expression_type: str
    client_version: int
    born_ms: int
    dead_ms: int = 0
    bloom: Json = None
    selector: Selector | None = field(default=None, repr=False)
    """The compiled expression; None until the group's first pull."""

    @property
    def is_dead(self) -> bool:
        return self.dead_ms >= self.born_ms

    @classmethod
    def from_json(cls, value: Json) -> Filter:
        bean = object_of(value, "ConsumerFilterData")
        return cls(
            group=required_text_field(bean, "consumerGroup"),
            topic=required_text_field(bean, "topic"),
            expression=text_field(bean, "expression") or "",
            expression_type=text_field(bean, "expressionType") or "",
            client_version=long_field(bean, "clientVersion"),
            born_ms=long_field(bean, "bornTime"),
            dead_ms=long_field(bean, "deadTime"),
            bloom=bean.get("bloomFilterData"),
        )

    def to_json(self) -> JsonObject:
        bloom: JsonObject = {} if self.bloom is None else {"bloomFilterData": self.bloom}
        return {
            **bloom,
            "bornTime": self.born_ms,
            "clientVersion": self.client_version,
            "consumerGroup": self.group,
            "dead": self.is_dead,
            "deadTime": self.dead_ms,
            "expression": self.expression,
            "expressionType": self.expression_type,
            "topic": self.topic,
        }


@final
class Filters:
    """The filters of one broker, by topic and group."""

    __slots__ = ("_clients", "_context", "_table")

    def __init__(self, context: Context, clients: Clients) -> None:
        self._clients = clients
        self._context = context
        self._table: dict[tuple[str, str], Filter] = {}
        context.files.keep(File.FILTERS, self.content)

    def __len__(self) -> int:
        return len(self._table)

    def selector(self, group: str, said: SubscriptionData) -> Selector:
        """The compiled selector of the group's subscription. SelectorError if the expression is
        invalid."""
        known = self._table.get((said.topic, group))
        if (
            known is None
            or known.selector is None
            or known.client_version != said.sub_version
            or known.is_dead
        ):
            return self._registered(group, said, known)
        return known.selector

    def _registered(self, group: str, said: SubscriptionData, known: Filter | None) -> Selector:
        context = self._context
        meter = context.store.filter_meter
        meter.begin()
        try:
            selector = selector_of(said.expression_type, said.sub_string)
        finally:
            meter.lap()
        if not self._has_room(said, known):
            self._forget_dead()
            if not self._has_room(said, known):
                return selector
        self._table[said.topic, group] = Filter(
            group,
            said.topic,
            said.sub_string,
            said.expression_type,
            said.sub_version,
            context.wall_ms,
            bloom=None if known is None else known.bloom,
            selector=selector,
        )
        context.files.touch(File.FILTERS, context.now + SAVE_SECONDS)
        context.effects.info(
            f"New consumer filter registered: group {group}, topic {said.topic}, version"
            f" {said.sub_version}: {said.sub_string}"
        )
        if selector.ignored:
            context.effects.warning(
                f"ignored the end of a filter group={group} topic={said.topic}"
                f" ignored={selector.ignored[:100]!r}: RocketMQ ignores it too; correct the filter"
            )
        return selector

    def _has_room(self, said: SubscriptionData, known: Filter | None) -> bool:
        """Whether the limits allow the new filter, which replaces the known one."""
        if known is None and len(self._table) >= FILTERS_MAX:
            return False
        characters = sum(len(each.expression) for each in self._table.values())
        replaced = 0 if known is None else len(known.expression)
        return characters - replaced + len(said.sub_string) <= CHARACTERS_MAX

    def _forget_dead(self) -> None:
        self._find_dead()
        dead = [place for place, each in self._table.items() if each.is_dead]
        for place in dead:
            del self._table[place]

    def _find_dead(self) -> None:
        """Mark as dead the filters that no member of their group subscribes with any more."""
        consumers = self._clients.consumers
        for (topic, group), each in self._table.items():
            members = consumers.get(group)
            said = None if members is None else members.subscriptions.get(topic)
            if not each.is_dead and (said is None or said.sub_string != each.expression):
                each.dead_ms = max(self._context.wall_ms, each.born_ms)

    # ------------------------------------------------------------------ the file

    def content(self) -> bytes:
        self._find_dead()
        oldest_ms = self._context.wall_ms - DEAD_MS_MAX
        self._table = {
            place: each
            for place, each in self._table.items()
            if not each.is_dead or each.dead_ms > oldest_ms
        }
        groups: dict[str, JsonObject] = {}
        for (topic, group), each in self._table.items():
            groups.setdefault(topic, {})[group] = each.to_json()
        topics: JsonObject = {
            topic: {"groupFilterData": filters, "topic": topic} for topic, filters in groups.items()
        }
        return javajson.dumps_pretty({"filterDataByTopic": topics})

    def copy(self, content: bytes) -> None:
        """Replace the filters by the master's. RemoteError if `content` is not such a file."""
        before, self._table = self._table, {}
        try:
            self.load(content)
        except RemoteError:
            self._table = before
            raise
        self._context.files.touch(File.FILTERS)

    def load(self, content: bytes) -> None:
        """Load the content of the file at a start. RemoteError if it is not such a file."""
        size = len(content)
        value = javajson.loads(content, size, values_max=size, dialect_values_max=size)
        bean = object_of(value, "consumerFilter.json")
        for topic in object_of(bean.get("filterDataByTopic") or {}, "filterDataByTopic").values():
            groups = object_of(topic, "filterDataByTopic").get("groupFilterData") or {}
            for each in object_of(groups, "groupFilterData").values():
                loaded = Filter.from_json(each)
                self._table[loaded.topic, loaded.group] = loaded
