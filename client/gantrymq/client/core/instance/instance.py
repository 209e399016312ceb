"""Shares routes, heartbeats and periodic tasks among the producers and consumers of a client id.

    route poll     at the start, then every 30 s: the routes of all topics that members use; at
                   once the routes with a broker that does not answer
    heartbeat      at the start and when a member is added, then every 30 s: to every broker if
                   there are consumers, else to masters only
    offsets        every 5 s, each consumer persists its progress
    name servers   every 2 min, if a URL lists them
    rebalance      when a consumer starts, when a broker reports a change of a group, and every
                   20 s; while a consumed topic does not exist, after 1 s, then with a growing
                   pause

Invariant: a member that was added is in every heartbeat until it is removed, and each broker that
received it gets an unregister request when it is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol, TypeAlias, final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.errors import RouteError, StateError
from gantrymq.client.core.flow.flow_steps import All, Ask, Flow, Signal, Wait
from gantrymq.client.core.instance.name_servers import NameServers
from gantrymq.client.core.instance.replies import Replies
from gantrymq.client.core.instance.route_refresher import RouteRefresher
from gantrymq.client.core.instance.routes import MASTER_ID, Route, Routes, inherited
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.ports import Ports, Running
from gantrymq.client.core.safe_text import text_of
from gantrymq.remoting.refusal import not_supported
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import ConsumerData, HeartbeatData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.client import UnregisterClientRequest

# Minimum pause between rebalances on request: a group that starts requests one per member.
REBALANCE_PAUSE_S: Final = 1.0

# Pause before an incomplete rebalance is repeated.
REBALANCE_RETRY_S: Final = 1.0

# How often the list of name servers is fetched from its URL.
NAME_SERVERS_S: Final = 120.0

VIP_PORT_DISTANCE: Final = 2

Handler: TypeAlias = Callable[[str, Command], Flow[Command | None]]
"""Handles a request from the broker at an address; None means that no response is sent."""


class ProducerMember(Protocol):
    """What the instance needs of a producer."""

    @property
    def topics(self) -> Iterable[str]:
        """The topics whose routes are refreshed."""


class ConsumerMember(Protocol):
    """What the instance needs of a consumer."""

    @property
    def topics(self) -> Iterable[str]:
        """The topics whose routes are refreshed."""

    @property
    def data(self) -> ConsumerData:
        """The consumer's part of a heartbeat."""

    async def rebalance(self) -> bool:
        """Take this consumer's share of the queues; return whether that succeeded for all
        topics."""

    async def persist_offsets(self) -> None:
        """Commit the offsets to the brokers or to a file."""


@final
class Instance:
    """The shared state of one client id. `start`, then `stop`; a driver runs its flows."""

    def __init__(
        self,
        settings: ClientSettings,
        client_id: str,
        ports: Ports,
        name_servers: NameServers,
    ) -> None:
        self.settings = settings
        self.client_id = client_id
        self.ports = ports
        self.name_servers = name_servers
        self.routes = Routes()
        self.route_refresher = RouteRefresher(ports, self.refresh_route)
        self.producers: dict[str, ProducerMember] = {}
        self.consumers: dict[str, ConsumerMember] = {}
        self.replies = Replies(ports.log)
        self.handlers: dict[int, Handler] = {
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: self._group_changed,
            RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: self.replies.take,
        }
        self.group_handlers: dict[tuple[int, str], Handler] = {}
        """Handlers of single consumer groups, by request code and group."""
        self.rebalance_wanted = Signal()
        self._running: list[Running] = []
        self._heard_by: dict[str, set[str]] = {}

    # ------------------------------------------------------------------ lifecycle

    def start(self) -> None:
        start, repeat = self.ports.start, self.repeat
        settings = self.settings
        self._running = [
            repeat("routes", self.refresh_routes, settings.poll_name_server_s),
            repeat("heartbeats", self._beat, settings.heartbeat_s),
            repeat("offsets", self.persist_offsets, settings.persist_offsets_s),
            start(self._keep_balanced(), "rebalance"),
            start(self.route_refresher.run(), "route refreshes"),
        ]
        if self.name_servers.url:
            fetching = repeat("name servers", self._fetch_name_servers, NAME_SERVERS_S)
            self._running.append(fetching)

    def stop(self) -> None:
        """Stop the periodic tasks. The caller removes all members first."""
        for running in self._running:
            running.cancel()
        self._running = []

    def repeat(self, name: str, work: Callable[[], Flow[None]], period_s: float) -> Running:
        """Run `work` every `period_s` until cancelled; first after one period."""
        return self.ports.start(self._repeat(name, work, period_s), name)

    async def _repeat(self, name: str, work: Callable[[], Flow[None]], period_s: float) -> None:
        while True:
            await Wait(self.ports.clock.monotonic() + period_s)
            try:
                await work()
            except Exception as error:  # one failure must not end the loop
                self.ports.log(
                    f"{name} failed, retrying in {period_s:g} s error={text_of(error)}", error
                )

    # ------------------------------------------------------------------ members

    def add_producer(self, group: str, member: ProducerMember) -> None:
        if group in self.producers:
            raise _taken("producer", group)
        self.producers[group] = member

    def add_consumer(self, group: str, member: ConsumerMember) -> None:
        if group in self.consumers:
            raise _taken("consumer", group)
        self.consumers[group] = member

    async def remove_producer(self, group: str, member: ProducerMember) -> None:
        """Remove the producer and unregister its group. Do nothing if the group belongs to another
        one."""
        if self.producers.get(group) is member:
            del self.producers[group]
            await self._unregister(producer_group=group)

    async def remove_consumer(self, group: str, member: ConsumerMember) -> None:
        """Remove the consumer and unregister its group. Do nothing if the group belongs to another
        one."""
        if self.consumers.get(group) is member:
            del self.consumers[group]
            await self._unregister(consumer_group=group)

    async def _unregister(
        self, *, producer_group: str | None = None, consumer_group: str | None = None
    ) -> None:
        header = UnregisterClientRequest(
            client_id=self.client_id, producer_group=producer_group, consumer_group=consumer_group
        )
        group = producer_group or consumer_group or ""
        addresses = self._heard_by.pop(group, set())
        timeout_s = self.settings.api_timeout_s
        # A broker that cannot be reached removes the client by itself after missing heartbeats.
        await All(
            [
                _asked(
                    Ask(
                        address,
                        Command(RequestCode.UNREGISTER_CLIENT, ext=header.encode()),
                        timeout_s,
                    )
                )
                for address in addresses
            ]
        )

    # ------------------------------------------------------------------ routes

    async def route(self, topic: str) -> Route:
        """Return the route of an existing topic; raises RouteError if there is none."""
        known = self.routes.find(topic) or await self.refresh_route(topic)
        if known is None:
            raise RouteError(
                f"No route info of this topic: {topic}. No broker has told the name servers"
                f" ({', '.join(self.name_servers.addresses)}) of it; create it with"
                f" gantry updateTopic -t {topic} -c <cluster>"
            )
        return known

    async def refresh_route(self, topic: str) -> Route | None:
        """Fetch the route from the name servers; None if neither they nor the client know it."""
        data = await self.name_servers.route(topic)
        if data is not None and self.routes.update(topic, data):
            self.rebalance_wanted.fire()
        return self.routes.find(topic)

    async def inherit_route(self, topic: str, default_topic: str, queues: int) -> Route | None:
        """Derive the route that a topic gets when the first message creates it from the default
        topic."""
        data = await self.name_servers.route(default_topic)
        if data is not None:
            self.routes.update(topic, inherited(data, queues))
        return self.routes.find(topic)

    async def refresh_routes(self) -> None:
        """Fetch the routes of all topics in use; a route that cannot be fetched stays as it is."""
        members = (*self.producers.values(), *self.consumers.values())
        topics = dict.fromkeys(topic for member in members for topic in member.topics)
        for topic in topics:
            try:
                await self.refresh_route(topic)
            except GantryError as error:
                self.ports.log(f"route not refreshed topic={topic} error={error}")

    async def found_master(self, broker_name: str, topic: str) -> str:
        """Return the master's address, and refresh the topic's route first if it is not known;
        raises RouteError."""
        address = self.master(broker_name)
        if address is None:
            await self.refresh_route(topic)
            address = self.master(broker_name)
        if address is None:
            raise RouteError(
                f"The broker[{broker_name}] not exist: no name server knows its master now"
            )
        return address

    async def found_member(
        self, broker_name: str, topic: str, broker_id: int = MASTER_ID
    ) -> tuple[str, int]:
        """Return the address and id of the broker to read from, as `Routes.member` does, and
        refresh the route first if it is not known; raises RouteError."""
        member = self.routes.member(broker_name, broker_id)
        if member is None:
            await self.refresh_route(topic)
            member = self.routes.member(broker_name, broker_id)
        if member is None:
            raise RouteError(
                f"The broker[{broker_name}] not exist: no name server knows it now. Check that it"
                " runs."
            )
        return member

    async def _fetch_name_servers(self) -> None:
        try:
            await self.name_servers.fetch()
        except RouteError as error:
            self.ports.log(f"name servers not fetched, keeping the known ones error={error}")

    def master(self, broker_name: str) -> str | None:
        """Return the master's address for sends: its VIP port if `vip_channel` is set."""
        address = self.routes.master(broker_name)
        return address if address is None else self.vip(address)

    def vip(self, address: str) -> str:
        if not self.settings.vip_channel:
            return address
        host, _, port = address.rpartition(":")
        return f"{host}:{int(port) - VIP_PORT_DISTANCE}"

    # ------------------------------------------------------------------ heartbeats

    async def _beat(self) -> None:
        self.routes.forget_offline()
        await self.heartbeat()

    async def heartbeat(self) -> None:
        """Send a heartbeat to all brokers concurrently; one that fails gets the next heartbeat."""
        if not (self.producers or self.consumers):
            return
        addresses = self.routes.members() if self.consumers else self.routes.masters()
        data = HeartbeatData(
            client_id=self.client_id,
            producer_groups=tuple(self.producers),
            consumers=tuple(member.data for member in self.consumers.values()),
        )
        body = javajson.dumps_fastjson(data.to_json())
        groups = (*self.producers, *self.consumers)
        timeout_s = self.settings.api_timeout_s
        commands = [Command(RequestCode.HEART_BEAT, body=body) for _ in addresses]
        asked = [
            _asked(Ask(address, command, timeout_s))
            for address, command in zip(addresses, commands, strict=True)
        ]
        for address, answer in zip(addresses, await All(asked), strict=True):
            if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
                for group in groups:
                    self._heard_by.setdefault(group, set()).add(address)
            else:
                cause = answer.remark if isinstance(answer, Command) else answer
                self.ports.log(f"heartbeat failed address={address} error={cause}")

    def is_known_to_one_of(self, route: Route, group: str) -> bool:
        """Tell whether a master of the route has received a heartbeat with the group. A master that
        the client learned of only now, through a new topic, has not."""
        heard_by = self._heard_by.get(group, set())
        masters = (self.routes.master(broker.broker_name) for broker in route.data.brokers)
        return any(address in heard_by for address in masters)

    # ------------------------------------------------------------------ offsets and queues

    async def persist_offsets(self) -> None:
        for member in tuple(self.consumers.values()):
            try:
                await member.persist_offsets()
            except (GantryError, OSError) as error:
                self.ports.log(f"offsets not persisted, retrying error={error}")
            except Exception as error:  # unexpected; the other members go on
                line = f"offsets not persisted, retrying error={text_of(error)}"
                self.ports.log(line, error)

    async def _keep_balanced(self) -> None:
        clock = self.ports.clock
        longest_s = pause_s = self.settings.rebalance_s
        missing: frozenset[str] = frozenset()
        while True:
            await Wait(clock.monotonic() + pause_s, self.rebalance_wanted)
            is_balanced = await self.rebalance()
            known, missing = missing, self.missing_topics()
            if not is_balanced or missing - known:
                pause_s = REBALANCE_RETRY_S
            else:
                pause_s = min(2 * pause_s, longest_s) if missing else longest_s
            await Wait(clock.monotonic() + REBALANCE_PAUSE_S)

    def missing_topics(self) -> frozenset[str]:
        """Return the consumed topics that have no route yet; the next rebalance looks for them."""
        members = self.consumers.values()
        topics = frozenset(topic for member in members for topic in member.topics)
        return frozenset(topic for topic in topics if self.routes.find(topic) is None)

    async def rebalance(self) -> bool:
        """Rebalance every consumer once; return whether all of them have their share."""
        is_balanced = True
        for member in tuple(self.consumers.values()):
            try:
                is_balanced = await member.rebalance() and is_balanced
            except GantryError as error:
                is_balanced = False
                self.ports.log(f"rebalance failed, retrying error={error}")
            except Exception as error:  # one consumer's failure must not affect the others
                is_balanced = False
                self.ports.log(f"rebalance failed, retrying error={text_of(error)}", error)
        return is_balanced

    # ------------------------------------------------------------------ requests of brokers

    async def serve(self, address: str, request: Command) -> Command | None:
        """Handle a request from a broker; returns the response, or None if there is none."""
        ext = request.ext or {}
        group = ext.get("consumerGroup") or ext.get("group") or ""
        handler = self.handlers.get(request.code) or self.group_handlers.get((request.code, group))
        if handler is None:
            return not_supported(request.code)
        return await handler(address, request)

    async def _group_changed(self, address: str, request: Command) -> None:
        del address, request
        self.rebalance_wanted.fire()


async def _asked(ask: Ask) -> Command:
    return await ask


def _taken(kind: str, group: str) -> StateError:
    return StateError(
        f"The {kind} group[{group}] has been created before, specify another name please: one"
        " client has each group once; for a second one give another instance_name"
    )
