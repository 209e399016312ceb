"""Random lives of brokers against a naive model of Java's five tables.

The model follows RouteInfoManager table by table with nested dicts and no sharing, except where we
depart from Java on purpose: an address belongs to one broker name in one cluster, an id to one
address (the displaced broker is forgotten at once), a cluster is there while a broker names it, and
a closed channel takes all its brokers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gantrymq.fakes.brokers.namesrv import Broker, Desk, FakeChannel
from gantrymq.wire.bodies.shared import DataVersion

TOPICS = ("T", "U", "V")
NAMES = ("a", "b", "c")
LISTENERS = ("internal", "external")
EXPIRY_SECONDS = 120.0
FIRST_SCAN_SECONDS = SCAN_SECONDS = 5.0


@dataclass
class Live:
    """A row of the live table."""

    name: str
    id: int
    version: DataVersion
    channel: FakeChannel
    seen_at: float
    outside: str | None
    cluster: str


@dataclass
class Java:
    """The five tables."""

    queues: dict[str, dict[str, int]] = field(default_factory=dict)  # topic -> name -> perm
    names: dict[str, dict[int, str]] = field(default_factory=dict)  # name -> id -> address
    live: dict[str, Live] = field(default_factory=dict)  # by address
    filters: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by address

    @property
    def clusters(self) -> dict[str, set[str]]:
        clusters: dict[str, set[str]] = {}
        for row in self.live.values():
            clusters.setdefault(row.cluster, set()).add(row.name)
        return clusters

    def register(self, broker: Broker, now: float, outside: str | None) -> bool:
        held = self.live.get(broker.address)
        addresses = self.names.get(broker.name, {})
        if len(list(broker.topics)) == 1 and broker.id not in addresses:
            return False
        if held is not None and held.name != broker.name:
            self.unregister(broker.address)
            held = None
        addresses = self.names.setdefault(broker.name, {})
        for other in [i for i, a in addresses.items() if a == broker.address and i != broker.id]:
            del addresses[other]
        is_first = broker.id not in addresses
        displaced = addresses.get(broker.id)
        if displaced is not None and displaced != broker.address:
            del self.live[displaced]
            self.filters.pop(displaced, None)
        addresses[broker.id] = broker.address
        is_changed = held is None or (held.version, held.cluster) != (
            broker.version,
            broker.cluster,
        )
        if broker.id == 0 or broker.id == min(addresses):
            for topic in broker.topics:
                known = self.queues.setdefault(topic, {})
                if is_first or is_changed or broker.name not in known:
                    known[broker.name] = broker.perm
        self.live[broker.address] = Live(
            broker.name, broker.id, broker.version, broker.channel, now, outside, broker.cluster
        )
        if broker.filters is not None:
            self.filters[broker.address] = broker.filters
        return True

    def unregister(self, address: str) -> None:
        row = self.live.pop(address, None)
        self.filters.pop(address, None)
        if row is None:
            return
        del self.names[row.name][row.id]
        if self.names[row.name]:
            return
        del self.names[row.name]
        for topic in list(self.queues):
            self.queues[topic].pop(row.name, None)
            if not self.queues[topic]:
                del self.queues[topic]

    def addresses(self, topic: str, listener: str) -> dict[str, dict[int, str]]:
        return {
            name: {
                i: self.live[a].outside or a if listener == "external" else a
                for i, a in self.names[name].items()
            }
            for name in self.queues.get(topic, {})
        }


BROKERS = st.builds(
    Broker,
    name=st.sampled_from(NAMES),
    id=st.integers(0, 2),
    address=st.integers(0, 4).map(lambda n: f"10.0.0.{n}:10911"),
    topics=st.sets(st.sampled_from(TOPICS)).map(sorted),
    version=st.integers(1, 2).map(lambda n: DataVersion(1000, n)),
    perm=st.sampled_from([2, 4, 6]),
    filters=st.sampled_from([None, (), ("f:1",)]),
    ext=st.just({}),
    channel=st.just(FakeChannel()),
    cluster=st.sampled_from(["C", "C", "D"]),
    acting=st.just("false"),
)
OUTSIDE = st.sampled_from([None, "203.0.113.1:1", "203.0.113.2:2"])


class Lives(RuleBasedStateMachine):
    """Few names, ids, addresses and channels, so that they collide."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.java = Java()
        self.channels = {n: FakeChannel(str(n)) for n in range(4)}
        self.next_scan = self.desk.now + FIRST_SCAN_SECONDS

    @rule(broker=BROKERS, channel=st.integers(0, 3), outside=OUTSIDE)
    def register(self, broker: Broker, channel: int, outside: str | None) -> None:
        ext = {} if outside is None else {"gantryListeners": f"external={outside}"}
        broker = broker.but(channel=self.channels[channel], ext=ext)
        accepted = self.java.register(broker, self.desk.now, outside)
        assert (self.desk.register(broker).code == 0) == accepted

    @precondition(lambda self: self.java.live)
    @rule(data=st.data())
    def unregister(self, data: st.DataObject) -> None:
        address = data.draw(st.sampled_from(sorted(self.java.live)))
        row = self.java.live[address]
        self.desk.unregister(Broker(name=row.name, id=row.id, address=address))
        self.java.unregister(address)

    @rule(number=st.integers(0, 3))
    def close(self, number: int) -> None:
        channel = self.channels[number]
        self.channels[number] = FakeChannel(str(number))
        self.desk.close(channel)
        for address in [a for a, row in self.java.live.items() if row.channel is channel]:
            self.java.unregister(address)

    @rule(seconds=st.integers(1, 100))
    def wait(self, seconds: int) -> None:
        end = self.desk.now + seconds
        self.desk.wait(seconds)
        while self.next_scan <= end:
            at = self.next_scan
            self.next_scan += SCAN_SECONDS
            for address, row in list(self.java.live.items()):
                if row.seen_at + EXPIRY_SECONDS < at:
                    self.java.unregister(address)

    @invariant()
    def routes_are_equal_on_every_listener(self) -> None:
        for topic in TOPICS:
            for listener in LISTENERS:
                expected = self.java.addresses(topic, listener)
                assert self.desk.addresses(topic, listener) == expected
            assert self.desk.perms(topic) == self.java.queues.get(topic, {})

    @invariant()
    def clusters_are_equal(self) -> None:
        info = self.desk.cluster()
        assert {name: set(names) for name, names in info.clusters.items()} == self.java.clusters
        assert {n: dict(b.addresses) for n, b in info.brokers.items()} == self.java.names

    @invariant()
    def filter_servers_are_equal(self) -> None:
        for topic in TOPICS:
            route = self.desk.route(topic)
            listed = {
                a
                for addresses in self.java.addresses(topic, "internal").values()
                for a in addresses.values()
            }
            expected = {a: f for a, f in self.java.filters.items() if f and a in listed}
            assert dict(route.filter_servers if route else {}) == expected

    @invariant()
    def a_member_is_in_one_place(self) -> None:
        routes = self.desk.core.state.routes
        in_groups = [m for group in routes.groups.values() for m in group.members.values()]
        assert sorted(m.address for m in in_groups) == sorted(self.java.live)
        assert set(in_groups) == set(routes.members.values())
        attached = [m for members in routes.members_of.values() for m in members]
        assert sorted(m.address for m in attached) == sorted(self.java.live)

    def teardown(self) -> None:
        for channel in list(self.channels.values()):
            self.desk.close(channel)
        self.desk.wait(200)
        self.desk.assert_empty()


TestLives = Lives.TestCase
# Not shrunk: that takes minutes, and a failure must be reported within one.
TestLives.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
