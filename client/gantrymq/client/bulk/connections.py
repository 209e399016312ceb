"""The connections of one process to a cluster, and where its brokers are at present.

Routes are asked for when they are needed and kept until `forget`: after an error the next question
goes to the name servers, so a master that moved is found under its broker name.

A process that was forked has the parent's sockets; using them would mix up both processes' answers.
So everything is dropped when the process id is another one.
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
        """The connection to this server; raises ConnectError when there can be none."""
        self._leave_parent()
        connection = self._open.get(address)
        if connection is None or not connection.is_open:
            connection = self._open[address] = self._connected(address)
        return connection

    def member(self, topic: str, broker_name: str) -> tuple[str, int]:
        """The address and the id of the broker to read from: the master, else a slave.

        Raises RouteError when the topic is not on that broker at present, or none can be asked.
        """
        self._leave_parent()
        if self._routes.find(topic) is None:
            self._routes.update(topic, self._route(topic))
            self._routes.forget_offline()
        member = self._routes.member(broker_name, MASTER_ID)
        if member is None:
            raise RouteError(
                f"no broker named {broker_name} is registered with topic {topic}; is it running,"
                f" and connected to the name servers {';'.join(self.settings.name_servers)}?"
            )
        return member

    def master(self, topic: str, broker_name: str) -> Connection:
        """The connection to the master of this broker name, which takes what is sent.

        Raises RouteError when there is none at present, and ConnectError.
        """
        address, broker_id = self.member(topic, broker_name)
        if broker_id != MASTER_ID:
            raise RouteError(f"broker {broker_name} of topic {topic} has no master at present")
        return self.to(address)

    def queues_to_write(self, topic: str) -> list[MessageQueue]:
        """The queues of the topic that may be written to at present, sorted; there is one.

        Raises RouteError.
        """
        self._leave_parent()
        route = Route(topic, self._route(topic))
        if not route.publish:
            raise RouteError(
                f"topic {topic} has no queue to write to: no master serves it, or its permission is"
                " to read only; mqadmin topicRoute shows it"
            )
        return sorted(route.publish)

    def forget_routes(self) -> None:
        """Ask for routes anew: something went wrong, and brokers may be elsewhere."""
        self._routes = Routes()

    def close(self) -> None:
        """Close all connections. They are made again when needed."""
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

    # Any: what a flow gives depends on the flow.
    def _run(self, flow: Flow[Any]) -> Any:
        """Carry out a flow of the client's core that asks servers only."""
        failure: RequestError | None = None
        answer: Command | None = None
        while True:
            try:
                step = flow.send(answer) if failure is None else flow.throw(failure)
            except StopIteration as stop:
                return stop.value
            assert isinstance(step, Ask), "name servers are asked, nothing else"
            failure = answer = None
            try:
                answer = self.to(step.address).ask(step.command)
            except RequestError as error:
                failure = error
