"""The Kubernetes API of a simulated group: requests that take time, fail, or get lost.

    refused     every request fails at once
    hanging     none is answered; those that arrive are carried out or not, by chance
    slow        each takes seconds, and is carried out when no caller waits any more
    late        all are carried out at once, and the writer hears of it late: others read it before
    read-only   writes are refused

A well API may be constantly slow as well (`Latency`). A client waits as long as the product does:
its timeout is the product's own. A request may be carried out and its answer be lost: an unknown
outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from random import Random
from typing import Final, final

from gantrymq.runtime.http.kube_api import REQUEST_SECONDS, REQUEST_SECONDS_MAX, ApiAnswer
from gantrymq.runtime.net.adaptive_timeout import AdaptiveTimeout
from gantrymq.sim.group.group_world import Life, Place, World
from gantrymq.sim.nodes.group_network import Network

NUMBER: Final = 100
"""The API's node in the network."""

_DONE: Final = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_REFUSED: Final = ApiAnswer(HTTPStatus.SERVICE_UNAVAILABLE, b'{"message":"unavailable"}')
_FORBIDDEN: Final = ApiAnswer(HTTPStatus.FORBIDDEN, b'{"message":"forbidden"}')

CarryOut = Callable[[], ApiAnswer]


class Health(Enum):
    """What is wrong with the API."""

    WELL = "well"
    REFUSED = "refused"
    HANGING = "hanging"
    SLOW = "slow"
    LATE = "late"
    READ_ONLY = "read-only"


@final
@dataclass(frozen=True, slots=True)
class Latency:
    """How long a request takes within a well API: always `constant`, and one in a hundred `p99`."""

    constant: float = 0.0
    p99: float = 0.0

    def draw(self, random: Random) -> float:
        if not self.constant:
            return 0.0
        return self.p99 if random.random() < 0.01 else self.constant


@final
class _Request:
    """A request that waits for its answer."""

    __slots__ = ("is_answered", "is_read", "life", "place", "told")

    def __init__(
        self, place: Place, life: Life, told: Callable[[ApiAnswer | None], None], *, is_read: bool
    ) -> None:
        self.is_answered = False
        self.is_read = is_read
        self.life = life
        self.place = place
        self.told = told

    def answer(self, answer: ApiAnswer | None) -> None:
        """None: there was no answer in time."""
        if not self.is_answered:
            self.is_answered = True
            self.told(answer)


@final
class Api:
    """The API server, and the way there and back."""

    def __init__(self, world: World, network: Network, random: Random) -> None:
        self.ambushes: dict[int, float] = {}
        """Nodes that stand still, for so long, from when they have sent their next request."""
        self.health = Health.WELL
        self.late_seconds = (0.1, 1.5)
        """How long a late API's answers to writes take; no caller waits as long as the longest."""
        self.latency = Latency()
        self.lost_answers = 0.0
        """Share of the answers that do not arrive."""
        self._network = network
        self._random = random
        self._world = world

    def ask(
        self,
        place: Place,
        life: Life,
        seconds: float,
        carry_out: CarryOut,
        told: Callable[[ApiAnswer | None], None],
        *,
        is_read: bool,
    ) -> None:
        request = _Request(place, life, told, is_read=is_read)
        place.after(seconds, lambda: request.answer(None), life)
        self._network.post(place.number, NUMBER, lambda: self._arrived(request, carry_out))
        if place.number in self.ambushes:
            place.pause(self.ambushes.pop(place.number))

    def _arrived(self, request: _Request, carry_out: CarryOut) -> None:
        random, health = self._random, self.health
        if health is Health.REFUSED:
            self._reply(request, _REFUSED)
        elif health is Health.READ_ONLY and not request.is_read:
            self._reply(request, _FORBIDDEN)
        elif health is Health.SLOW:
            self._later(request, carry_out, random.uniform(0.1, 3.0))
        elif health is Health.LATE:
            known = carry_out()
            seconds = 0.0 if request.is_read else random.uniform(*self.late_seconds)
            self._world.after(seconds, lambda: self._reply(request, known))
        elif health is Health.HANGING:
            if random.random() < 0.5:
                self._note_unknown(request, carry_out())
        else:
            self._answer_well(request, carry_out)

    def _answer_well(self, request: _Request, carry_out: CarryOut) -> None:
        seconds = self.latency.draw(self._random)
        if seconds:
            self._world.tally["slow API requests"] += 1
            self._later(request, carry_out, seconds)
            return
        answer = carry_out()
        if self._random.random() < self.lost_answers:
            self._note_unknown(request, answer)
        else:
            self._reply(request, answer)

    def _later(self, request: _Request, carry_out: CarryOut, seconds: float) -> None:
        self._world.after(seconds, lambda: self._reply(request, carry_out()))

    def _note_unknown(self, request: _Request, answer: ApiAnswer) -> None:
        if answer.status in _DONE and not request.is_read:
            self._world.tally["unknown outcomes, written"] += 1

    def _reply(self, request: _Request, answer: ApiAnswer) -> None:
        place = request.place

        def arrive() -> None:
            place.arrive(0.0, lambda: request.answer(answer), request.life)

        is_too_late = request.is_answered and not request.is_read
        if is_too_late or not self._network.post(NUMBER, place.number, arrive):
            self._note_unknown(request, answer)


Carry = Callable[[str, bytes, float], ApiAnswer]
"""What the API does with a method and a body, and when by its sender's clock they were sent."""


@final
class ApiConnection:
    """One process's way to the API: with the timeouts of `KubeApi`, and no sockets."""

    def __init__(self, api: Api, place: Place, life: Life, carry: Carry) -> None:
        self._api = api
        self._carry = carry
        self._life = life
        self._place = place
        self._timeout = AdaptiveTimeout(REQUEST_SECONDS, REQUEST_SECONDS_MAX)

    def ask(self, method: str, body: bytes, told: Callable[[ApiAnswer | None], None]) -> None:
        """There is one object, so that its path need not be said."""
        place = self._place
        began = place.monotonic

        def answered(answer: ApiAnswer | None) -> None:
            if answer is None:
                self._timeout.expired()
            else:
                self._timeout.answered(place.monotonic - began)
            told(answer)

        self._api.ask(
            place,
            self._life,
            self._timeout.seconds,
            lambda: self._carry(method, body, began),
            answered,
            is_read=method == "GET",
        )
