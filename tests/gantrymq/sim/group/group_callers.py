"""Simulates requests by remoting in a group: callers, their channels, and services.

    caller.ask(address, command, seconds, then)     `then` hears the response, or why there is none

A channel is one connection as the service sees it. It is made by the first request to an address,
and bound to the process that is found there: when that ends, or closes it, whatever is asked on it
fails. The group's one address leads to where the lease store says at that moment; connections that
are there already stay where they are.

Invariant: `then` is called once, unless the caller's own life is over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, final

from gantrymq.sim.group.group_world import Life, Place
from gantrymq.sim.nodes.group_network import Network
from gantrymq.wire.command import Command

GROUP_ADDRESS: Final = "10.96.0.1:10911"
CLOSED: Final = "the connection was closed"
AGAIN_SECONDS: Final = 0.5
"""Between two tries of a kernel to say that a connection has ended."""

Then: TypeAlias = Callable[[Command | str], None]


class Service(Protocol):
    """A process that answers."""

    @property
    def place(self) -> Place: ...

    @property
    def life(self) -> Life: ...

    def serve(self, channel: Channel, command: Command) -> None: ...

    def hung_up(self, channel: Channel) -> None:
        """Its caller closed it, or is gone."""


@final
@dataclass(eq=False, slots=True)
class Channel:
    """One connection; compared by identity, as the cores do."""

    caller: Caller
    service: Service
    peer: str
    listener: str = "internal"
    certificate_names: tuple[str, ...] = ()
    is_closing: bool = False
    notes: dict[int, object] = field(default_factory=dict)
    """By opaque, what the simulator wants to remember of a request until it is answered."""

    def respond(self, opaque: int, response: Command) -> None:
        """It leaves the service."""
        self.notes.pop(opaque, None)
        service, caller = self.service, self.caller
        caller.network.post(
            service.place.number, caller.place.number, lambda: self._arrive(opaque, response)
        )

    def close(self) -> None:
        """By the service, or by its end."""
        if not self.is_closing:
            self.is_closing = True
            service, caller = self.service, self.caller
            caller.network.post(
                service.place.number, caller.place.number, lambda: self._arrive(0, CLOSED)
            )

    def _arrive(self, opaque: int, response: Command | str) -> None:
        caller = self.caller
        if not caller.life.is_over:
            caller.place.arrive(0.0, lambda: caller.heard(self, opaque, response), caller.life)


@final
class _Question:
    """One that has no answer yet."""

    __slots__ = ("channel", "then")

    def __init__(self, then: Then) -> None:
        self.channel: Channel | None = None
        self.then = then


@final
class Directory:
    """Which service is at an address now."""

    def __init__(self) -> None:
        self.services: dict[str, Service] = {}
        self.numbers: dict[str, int] = {}
        """The node at an address, whether it serves now or not."""
        self.group: Callable[[], str] = lambda: ""
        self.seats: dict[int, int] = {}
        """Where the names of members lead to, if that is not the node of the same number."""

    def resolve(self, address: str) -> str:
        return self.group() if address == GROUP_ADDRESS else address


@final
class Caller:
    """The requests of one process, or of one client, to others over the network."""

    __slots__ = (
        "_channels",
        "_directory",
        "_ip",
        "_opaque",
        "_questions",
        "life",
        "network",
        "place",
    )

    def __init__(self, place: Place, life: Life, network: Network, directory: Directory) -> None:
        self._channels: dict[str, Channel] = {}
        self._directory = directory
        self._ip = f"10.1.{place.number // 250}.{place.number % 250 + 1}"
        self._opaque = 0
        self._questions: dict[int, _Question] = {}
        self.life = life
        self.network = network
        self.place = place

    def ask(
        self,
        address: str,
        command: Command,
        seconds: float,
        then: Then,
        *,
        note: object = None,
        may_repeat: bool = False,
    ) -> None:
        """`note` is kept with the request, for the check of its answer when it leaves."""
        self._opaque += 1
        opaque = command.opaque = self._opaque
        self._questions[opaque] = _Question(then)
        self.place.after(seconds, lambda: self._settle(opaque, "no answer in time"), self.life)
        known = self._channels.get(address)
        target = self._directory.resolve(address)
        number = self._directory.numbers.get(target)
        if known is not None and not known.is_closing:
            self._questions[opaque].channel = known
            number = known.service.place.number
        elif number is None:
            self.place.after(
                0.001, lambda: self._settle(opaque, f"no listener at {address}"), self.life
            )
            return
        self.network.post(
            self.place.number,
            number,
            lambda: self._reach(address, target, command, note),
            may_repeat=may_repeat,
        )

    def heard(self, channel: Channel, opaque: int, response: Command | str) -> None:
        """What a channel brought: an answer, or its end."""
        if isinstance(response, Command):
            self._settle(opaque, response)
            return
        for address in [each for each, known in self._channels.items() if known is channel]:
            del self._channels[address]
        lost = [each for each, asked in self._questions.items() if asked.channel is channel]
        for each in lost:
            self._settle(each, response)

    def disconnect(self, address: str) -> None:
        """Close the connection, as clients do with one that does not answer."""
        channel = self._channels.pop(address, None)
        if channel is not None:
            self._part(channel)

    def hang_up_all(self) -> None:
        """As the kernel does for a process that has ended."""
        for address in list(self._channels):
            self.disconnect(address)

    # ------------------------------------------------------------------ inside

    def _part(self, channel: Channel) -> None:
        self._tell_end(channel)
        self.heard(channel, 0, CLOSED)

    def _tell_end(self, channel: Channel) -> None:
        """The service hears that the connection ends; the kernel says it until it has arrived."""
        service, network, number = channel.service, self.network, self.place.number

        def arrive() -> None:
            if not service.life.is_over and not channel.is_closing:
                channel.is_closing = True
                service.place.arrive(0.0, lambda: service.hung_up(channel), service.life)

        if service.life.is_over or not network.is_up(number):
            return
        if not network.post(number, service.place.number, arrive):
            self.place.world.after(AGAIN_SECONDS, lambda: self._tell_end(channel))

    def _reach(self, address: str, target: str, command: Command, note: object) -> None:
        """The request arrives at the node."""
        asked = self._questions.get(command.opaque)
        channel = None if asked is None else asked.channel
        if channel is None:
            channel = self._channels.get(address) or self._open(address, target)
        if asked is not None and channel is not None:
            asked.channel = channel
        if channel is None or channel.is_closing or channel.service.life.is_over:
            self._refused(command.opaque, target, channel)
            return
        if command.opaque and note is not None:
            channel.notes[command.opaque] = note
        service, reached = channel.service, channel
        service.place.arrive(0.0, lambda: service.serve(reached, command), service.life)

    def _open(self, address: str, target: str) -> Channel | None:
        service = self._directory.services.get(target)
        if service is None or service.life.is_over or self.life.is_over:
            return None
        channel = Channel(self, service, f"{self._ip}:{20_000 + self._opaque % 40_000}")
        self._channels[address] = channel
        return channel

    def _refused(self, opaque: int, target: str, channel: Channel | None) -> None:
        """No process listens there, or the connection is one of a process that is gone."""
        number = self._directory.numbers.get(target, -1)

        def arrive() -> None:
            if channel is None:
                self._settle(opaque, "connection refused")
            else:
                self.heard(channel, 0, CLOSED)

        self.network.post(
            number, self.place.number, lambda: self.place.arrive(0.0, arrive, self.life)
        )

    def _settle(self, opaque: int, answer: Command | str) -> None:
        asked = self._questions.pop(opaque, None)
        if asked is not None:
            asked.then(answer)
