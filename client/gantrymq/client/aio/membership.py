"""Joins a producer or consumer to its client at the start and removes it at the close.

Invariant: a start that raises or is cancelled leaves nothing behind, and neither does a close:
whatever the member's own close raises, the member leaves its client. A cancelled close completes
before it raises, because other members may share the client, whose heartbeats and locks would
continue for this member.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from gantrymq.client.aio.client import Client, join
from gantrymq.client.aio.machinery.complete_close import to_its_end
from gantrymq.client.aio.machinery.environment import Environment, Identity
from gantrymq.client.aio.machinery.starting import Starting
from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.client.core.flow.lifecycle import Lifecycle
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.settings import ClientSettings

T = TypeVar("T")


class Member(Protocol):
    """The core of a producer or consumer."""

    @property
    def lifecycle(self) -> Lifecycle: ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...


M = TypeVar("M", bound=Member)


class Startable:
    """Base class of objects that are used with `async with`, or with `start` and `close`."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class Membership(Generic[M]):
    """Holds one producer or consumer and its client. `enter`, then `run` flows of the `member`,
    then `close`."""

    _is_open = False

    def __init__(
        self, kind: str, settings: ClientSettings, identity: Identity, environment: Environment
    ) -> None:
        """`kind` is the name in error texts, as in Life. Raises ConfigurationError."""
        self._kind = kind
        self._settings = settings
        self._identity = identity
        self._environment = environment
        self._client: Client | None = None
        self._member: M | None = None
        self._starting = Starting()
        settings.must_name_servers()

    async def enter(self, make: Callable[[Instance], M]) -> None:
        """Join a client and start the member that `make` returns. Raises StateError if it was
        started before."""
        if self._client is not None:
            lifecycle = Lifecycle(self._kind) if self._member is None else self._member.lifecycle
            raise lifecycle.was_begun
        client = self._client = join(self._settings, self._identity, self._environment)
        client.enter()
        self._is_open = True
        try:
            member = self._member = make(client.instance)
            with self._starting:
                await client.run(member.start())
        except BaseException:
            await self.close()
            raise

    async def close(self, end: Callable[[M], Flow[None]] | None = None) -> None:
        """Close the member by its `close`, or by `end`, and leave the client. A second call does
        nothing."""
        await self._starting.is_over()
        client, member = self._client, self._member
        if client is None or not self._is_open:
            return
        self._is_open = False
        try:
            if member is not None:
                await to_its_end(client.run(member.close() if end is None else end(member)))
        finally:
            await client.leave()

    @property
    def started(self) -> M | None:
        """The member; None before the start."""
        return self._member

    @property
    def member(self) -> M:
        """The member; raises StateError before the start, and in a forked child."""
        if self._client is None or self._member is None:
            raise Lifecycle(self._kind).refusal
        self._client.must_be_of_this_process()
        return self._member

    @property
    def member_here(self) -> M:
        """The member, for synchronous calls on the event loop; raises StateError on another loop as
        well. Hot path."""
        client, member = self._client, self._member
        if client is None or member is None:
            raise Lifecycle(self._kind).refusal
        client.must_be_here()
        return member

    def run(self, flow: Flow[T]) -> Awaitable[T]:
        """Return or raise what the flow does."""
        assert self._client is not None, "the flow is of its member"
        return self._client.run(flow)

    def __del__(self) -> None:
        if self._is_open and self._client is not None:
            self._client.warn_unclosed(self, self._kind)
