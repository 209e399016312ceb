"""Keeps the connections of one process to a cluster, and the routes to its brokers.

Routes are fetched when they are needed and kept until `forget_routes`. After an error they are
fetched again, so a new master is found under its broker name.

A forked process has the sockets of its parent, and using them would mix up the responses of both
processes. So all connections are closed when the process id has changed.
"""

from __future__ import annotations

import os
import random
from functools import cached_property
from typing import Any, final

from gantrymq.client.bulk.connection import Connection
from gantrymq.client.bulk.settings import BulkSettings
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.flow.flow_steps import Ask, Flow
from gantrymq.client.core.instance.name_servers import NameServers
from gantrymq.client.core.instance.routes import MASTER_ID, Route, Routes
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.command import Command


@final
class Connections:
    """The connections and routes that one thread of one process uses."""

    def __init__(self, settings: BulkSettings) -> None:
        self.settings = settings
        self._pid = os.getpid()
        self._open: dict[str, Connection] = {}
        self._routes = Routes()
        first = random.randrange(len(settings.name_servers))  # noqa: S311 - spreads load only
        self._name_servers = NameServers(settings.name_servers, first, settings.answer_timeout_s)

    def to(self, address: str) -> Connection:
        """Return the connection to this server; raises ConnectError."""
        self._leave_parent()
        connection = self._open.get(address)
        if connection is None or not connection.is_open:
            connection = self._open[address] = self._connected(address)
        return connection

    def member(self, topic: str, broker_name: str) -> tuple[str, int]:
        """Return the address and the id of the broker to read from: the master, else a slave.

        Raises RouteError if the topic is not on that broker now, or no name server responds.
        """
        self._leave_parent()
        if self._routes.find(topic) is None:
            self._routes.update(topic, self._route(topic))
            self._routes.forget_offline()
        member = self._routes.member(broker_name, MASTER_ID)
        if member is None:
            raise RouteError(
                f"no broker named {broker_name} is registered with topic {topic}; check that it"
                f" runs and has the name servers {';'.join(self.settings.name_servers)}"
            )
        return member

    def master(self, topic: str, broker_name: str) -> Connection:
        """Return the connection to the master of this broker name.

        Raises RouteError if there is no master now, and ConnectError.
        """
        address, broker_id = self.member(topic, broker_name)
        if broker_id != MASTER_ID:
            raise RouteError(f"broker {broker_name} of topic {topic} has no master at present")
        return self.to(address)

    def queues_to_write(self, topic: str) -> list[MessageQueue]:
        """Return the queues of the topic that can be written to now, sorted; at least one.

        Raises RouteError.
        """
        self._leave_parent()
        route = Route(topic, self._route(topic))
        if not route.publish:
            raise RouteError(
                f"Topic {topic} has no queue to write to: no master serves it, or its permission is"
                " read only. `gantry topicRoute` shows both."
            )
        return sorted(route.publish)

    def forget_routes(self) -> None:
        """Discard the routes after an error, because brokers may have other addresses now."""
        self._routes = Routes()

    def close(self) -> None:
        """Close all connections. They are opened again when needed."""
        while self._open:
            self._open.popitem()[1].close()

    def _connected(self, address: str) -> Connection:
        settings = self.settings
        return Connection(
            address,
            connect_timeout_s=settings.connect_timeout_s,
            answer_timeout_s=settings.answer_timeout_s,
            credentials=settings.signs_with(),
            context=None if self._contexts is None else self._contexts.context,
        )

    @cached_property
    def _contexts(self) -> ClientContexts | None:
        return ClientContexts.of(self.settings.tls, lambda text: None)

    def _leave_parent(self) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self.close()

    def _route(self, topic: str) -> TopicRouteData:
        route: TopicRouteData | None = self._run(self._name_servers.route(topic))
        if route is None:
            raise RouteError(f"no name server knows the topic {topic}; was it deleted?")
        return route

    # Any: the result of a flow depends on the flow.
    def _run(self, flow: Flow[Any]) -> Any:
        """Run a flow of the client's core whose only steps are requests."""
        failure: RequestError | None = None
        answer: Command | None = None
        while True:
            try:
                step = flow.send(answer) if failure is None else flow.throw(failure)
            except StopIteration as stop:
                return stop.value
            assert isinstance(step, Ask), "a route flow only sends requests"
            failure = answer = None
            try:
                answer = self.to(step.address).ask(step.command)
            except RequestError as error:
                failure = error
