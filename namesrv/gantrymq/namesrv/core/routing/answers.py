"""Encodes responses to route and cluster queries.

A route is composed of parts that are encoded once: the text of a group (per listener and dialect,
until anything about brokers changes) and of its queues (one text for all topics of the same shape).
Whole routes are cached by placement; the cache is bounded by bytes and drops the least recently
used first:

    {"brokerDatas":[GROUP,...],"filterServerTable":{SERVERS},"orderTopicConf":"b:4","queueDatas":[
    QUEUES,...]}

Dialects: peers from 4.9.4 on, or that ask for it, get standard JSON; older ones get fastjson's, in
which broker ids are not quoted. The listener of a request selects the address of every broker that
registered one for it; other brokers are shown with their normal one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, final

from gantrymq.namesrv.core.routing.brokers import MASTER_ID, Group
from gantrymq.namesrv.core.routing.placement import Placement
from gantrymq.namesrv.core.routing.routes import Routes
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import BrokerData, QueueData
from gantrymq.wire.bodies.shared import Permission
from gantrymq.wire.jsonvalue import JsonObject

# The memory of a cached response besides its bytes: the entry, its key and its objects.
_ENTRY_BYTES: Final = 400

# Encoded queue shapes in the cache; clusters have a few hundred (groups times shapes).
_QUEUE_TEXTS_MAX: Final = 20_000


@final
class View:
    """A listener and dialect. `Answers.view` makes each once; they are compared by identity."""

    __slots__ = ("listener", "standard")

    def __init__(self, listener: str, *, standard: bool) -> None:
        self.listener: str = listener
        self.standard: bool = standard


@dataclass(frozen=True, slots=True)
class _GroupText:
    data: bytes
    filter_servers: bytes


@final
class Answers:
    """Encodes the tables, and drops what it encoded when they change."""

    __slots__ = (
        "_bytes_kept",
        "_bytes_max",
        "_groups",
        "_queues",
        "_routes",
        "_version",
        "_views",
        "_whole",
    )

    def __init__(self, routes: Routes, bytes_max: int) -> None:
        self._routes = routes
        self._bytes_max = bytes_max
        self._bytes_kept = 0
        self._version = routes.version
        self._whole: OrderedDict[tuple[Placement, View], bytes] = OrderedDict()
        self._groups: dict[tuple[str, bool, View], _GroupText] = {}
        self._queues: dict[QueueData, bytes] = {}
        self._views: dict[tuple[str, bool], View] = {}

    @property
    def bytes_kept(self) -> int:
        """The size of the cache of whole routes."""
        return self._bytes_kept

    def view(self, listener: str, *, standard: bool) -> View:
        """The view for a listener; there are few, since listeners are named in the
        configuration."""
        view = self._views.get((listener, standard))
        if view is None:
            view = self._views[listener, standard] = View(listener, standard=standard)
        return view

    def route(self, placement: Placement, view: View) -> bytes:
        """The route of any topic with this placement."""
        if self._version != self._routes.version:
            self.forget()
        key = (placement, view)
        answer = self._whole.get(key)
        if answer is not None:
            self._whole.move_to_end(key)
            return answer
        answer = self.compose(placement, view)
        self._keep(key, answer)
        return answer

    def compose(
        self,
        placement: Placement,
        view: View,
        *,
        order: str | None = None,
        acting: bool = False,
        zone: str | None = None,
    ) -> bytes:
        """An uncached route: with an order of queues, acting masters, or brokers of one zone
        only."""
        if self._version != self._routes.version:
            self.forget()
        groups: list[bytes] = []
        servers: list[bytes] = []
        queues: list[bytes] = []
        for queue in placement.queues:
            group = self._routes.groups[queue.broker_name]
            if zone is not None and _is_far(group, zone):
                continue
            acts = acting and _acts(group, queue)
            text = self._group_text(group, view, acts=acts)
            groups.append(text.data)
            if text.filter_servers:
                servers.append(text.filter_servers)
            queues.append(self._queue_text(queue))
        conf = b""
        if order is not None:
            quoted = _dumps({"orderTopicConf": order}, view)
            conf = quoted[1:-1] + b","
        return b"".join(
            (
                b'{"brokerDatas":[',
                b",".join(groups),
                b'],"filterServerTable":{',
                b",".join(servers),
                b"},",
                conf,
                b'"queueDatas":[',
                b",".join(queues),
                b"]}",
            )
        )

    def cluster_info(self, listener: str) -> bytes:
        """The cluster info, always in fastjson's dialect, as in Java."""
        if self._version != self._routes.version:
            self.forget()
        view = self.view(listener, standard=False)
        brokers = [
            javajson.dumps_fastjson(name) + b":" + self._group_text(group, view, acts=False).data
            for name, group in self._routes.groups.items()
        ]
        clusters: JsonObject = {
            name: [*sorted(names)] for name, names in sorted(self._routes.clusters.items())
        }
        return b"".join(
            (
                b'{"brokerAddrTable":{',
                b",".join(brokers),
                b'},"clusterAddrTable":',
                javajson.dumps_fastjson(clusters),
                b"}",
            )
        )

    def forget(self) -> None:
        """Drop all encoded text, because the tables changed."""
        self._version = self._routes.version
        self._whole.clear()
        self._groups.clear()
        self._queues.clear()
        self._bytes_kept = 0

    def _keep(self, key: tuple[Placement, View], answer: bytes) -> None:
        self._whole[key] = answer
        self._bytes_kept += len(answer) + _ENTRY_BYTES
        while self._bytes_kept > self._bytes_max:
            _, oldest = self._whole.popitem(last=False)
            self._bytes_kept -= len(oldest) + _ENTRY_BYTES

    def _group_text(self, group: Group, view: View, *, acts: bool) -> _GroupText:
        key = (group.name, acts, view)
        text = self._groups.get(key)
        if text is None:
            text = self._groups[key] = _GroupText(
                _dumps(broker_data(group, view.listener, acts=acts).to_json(), view),
                _filter_servers(group, view),
            )
        return text

    def _queue_text(self, queue: QueueData) -> bytes:
        text = self._queues.get(queue)
        if text is None:
            if len(self._queues) >= _QUEUE_TEXTS_MAX:
                self._queues.clear()
            # Both dialects write such texts the same way.
            text = self._queues[queue] = javajson.dumps_standard(queue.to_json())
        return text


def broker_data(group: Group, listener: str, *, acts: bool = False) -> BrokerData:
    """A group as clients of this listener see it."""
    addresses = {
        broker_id: member.address_for(listener) for broker_id, member in group.members.items()
    }
    if acts:
        addresses[MASTER_ID] = addresses.pop(group.lowest_id())
    return BrokerData(
        group.cluster, group.name, addresses, group.enable_acting_master, group.zone_name
    )


def _acts(group: Group, queue: QueueData) -> bool:
    """Whether the lowest slave is shown as master: for reads only, and only if configured."""
    return group.enable_acting_master and group.master is None and not queue.perm & Permission.WRITE


def _is_far(group: Group, zone: str) -> bool:
    """Whether a zone's route omits the group: masters of other zones are omitted, while slaves
    replace a lost master in any zone."""
    return group.master is not None and (group.zone_name or "").lower() != zone.lower()


def _filter_servers(group: Group, view: View) -> bytes:
    table: JsonObject = {
        member.address_for(view.listener): list(member.filter_servers)
        for member in group.members.values()
        if member.filter_servers
    }
    return _dumps(table, view)[1:-1]


def _dumps(value: JsonObject, view: View) -> bytes:
    return javajson.dumps_standard(value) if view.standard else javajson.dumps_fastjson(value)
