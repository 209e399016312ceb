"""Runs flows in virtual time, one at a time, against the test's servers.

`run` drives one flow to its end, letting those that were started go on beside it; `pass_time` lets
time pass. What is due first runs first, in the order in which it was asked for: no run differs from
the next.
"""

from __future__ import annotations

import inspect
import itertools
import random
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar, cast

from gantrymq.base.errors import GantryError
from gantrymq.client.core.flow.flow_steps import (
    FOREVER,
    All,
    Ask,
    Call,
    Fetch,
    Flow,
    LoadFile,
    SaveFile,
    Step,
    Tell,
    Wait,
)
from gantrymq.client.core.ports import Ports
from gantrymq.remoting.failures import RequestTimeoutError
from gantrymq.runtime.clock import VirtualClock
from gantrymq.testing.timeline import Timeline
from gantrymq.wire.command import Command

T = TypeVar("T")

STEPS_MAX = 1_000_000


class Late:
    """A response that comes some time after the request."""

    def __init__(self, response: Command | Exception, after_s: float) -> None:
        self.response = response
        self.after_s = after_s


class Held:
    """A response that the server gives later, by `give`."""

    def __init__(self) -> None:
        self.give: Callable[[Command | Exception], None] = _unheard


class Network(Protocol):
    """The servers. The result is the response to a request; None is no response."""

    def __call__(
        self, address: str, command: Command, *, is_oneway: bool
    ) -> Command | Late | Held | Exception | None: ...


class Server(Protocol):
    """A server that acts at its deadlines."""

    def deadline(self) -> float: ...

    def turn(self) -> None: ...


class VirtualFlow:
    """One running flow."""

    def __init__(
        self, flow: Coroutine[Any, Any, Any], name: str, done: Callable[[], None], owner: str
    ) -> None:
        self.flow = flow
        self.name = name
        self.done = done
        self.owner = owner
        self.result: Any = None
        self.error: Exception | None = None
        self.has_ended = False
        self.turn = 0  # results for an earlier step are ignored

    def cancel(self) -> None:
        if not self.has_ended:
            self.has_ended = True
            self.flow.close()


@dataclass
class VirtualDriver:
    """The environment of a client under test."""

    network: Network
    timeline: Timeline = field(default_factory=Timeline)
    seed: int = 0

    def __post_init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.pages: dict[str, str] = {}
        self.lines: list[str] = []
        self.flows: list[VirtualFlow] = []
        self._ready: deque[tuple[VirtualFlow, int, Any, Exception | None]] = deque()
        self.servers: list[Server] = []
        """Servers that act at their deadlines."""
        self.owner = ""
        """The client that owns the running flow, if there are several clients."""
        chance = random.Random(self.seed).randrange
        ids = (f"{n:032X}" for n in itertools.count())

        def new_ids(wanted: int) -> list[str]:
            return list(itertools.islice(ids, wanted))

        self.ports = Ports(self.clock, self.start, chance, ids.__next__, new_ids, self._log)

    def _log(self, line: str, error: Exception | None = None) -> None:
        del error
        self.lines.append(line)

    @property
    def clock(self) -> VirtualClock:
        return self.timeline.clock

    def ports_of(self, owner: str) -> Ports:
        """Return the environment of one of several clients, which owns the flows that it starts."""

        def start(flow: Flow[None], name: str) -> VirtualFlow:
            return self.start(flow, name, owner)

        return replace(self.ports, start=start)

    # ------------------------------------------------------------------ for tests

    def run(self, flow: Flow[T], *, seconds_max: float = 86_400.0, owner: str = "") -> T:
        """Run a flow; time passes as it needs. Returns its result or raises its error."""
        running = self._begin(flow, "test", _nothing, owner)
        end = self.clock.monotonic() + seconds_max
        while not running.has_ended:
            if not self._turn():
                assert self._next_moment() <= end, f"it never ends: {flow!r}"
                self._advance(self._next_moment())
        if running.error is not None:
            raise running.error
        return cast("T", running.result)

    def pass_time(self, seconds: float) -> None:
        """Execute everything that is due within that time."""
        end = self.clock.monotonic() + seconds
        self.settle()
        while (due := self._next_moment()) <= end:
            self._advance(due)
            self.settle()
        self.timeline.go_to(end)

    def settle(self) -> None:
        """Execute everything that is due now."""
        for _ in range(STEPS_MAX):
            if not self._turn():
                return
        raise AssertionError("it never settles")

    def start(self, flow: Flow[None], name: str, owner: str = "") -> VirtualFlow:
        running = self._begin(flow, name, _nothing, owner or self.owner)
        self.flows = [each for each in self.flows if not each.has_ended]
        self.flows.append(running)
        return running

    # ------------------------------------------------------------------ inside

    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Let servers act at their deadlines."""
        self._at(moment, action)

    def _begin(
        self, flow: Flow[Any], name: str, done: Callable[[], None], owner: str
    ) -> VirtualFlow:
        running = VirtualFlow(flow, name, done, owner)
        self._ready.append((running, 0, None, None))
        return running

    def _turn(self) -> bool:
        if not self._ready:
            return False
        running, turn, result, error = self._ready.popleft()
        if running.has_ended or running.turn != turn:
            return True
        running.turn += 1
        self.owner = running.owner
        try:
            step = running.flow.send(result) if error is None else running.flow.throw(error)
        except StopIteration as stop:
            running.result = stop.value
            running.has_ended = True
            running.done()
        except Exception as failure:
            running.error = failure
            running.has_ended = True
            if running.name != "test" and running.done is _nothing:
                raise  # unexpected: the test must see it
            running.done()
        else:
            self._carry_out(running, step)
        finally:
            self.owner = ""
        return True

    def _carry_out(self, running: VirtualFlow, step: Step) -> None:
        turn = running.turn

        def go_on(result: object = None, error: Exception | None = None) -> None:
            self._ready.append((running, turn, result, error))

        if isinstance(step, Ask):
            self._ask(step, go_on)
        elif isinstance(step, Wait):
            if step.signal is not None:
                step.signal.listen(lambda: go_on(result=True))
            if step.until != FOREVER:
                self._at(step.until, lambda: go_on(result=False))
        elif isinstance(step, Call):
            self._call(step, go_on)
        elif isinstance(step, All):
            self._side_by_side(step, go_on)
        elif isinstance(step, Tell):
            answer = self.network(step.address, step.command, is_oneway=True)
            go_on(error=answer if isinstance(answer, Exception) else None)
        elif isinstance(step, LoadFile):
            go_on(self.files.get(step.path))
        elif isinstance(step, Fetch):
            page = self.pages.get(step.url)
            go_on(page, None if page is not None else OSError(f"nothing is at {step.url}"))
        else:
            assert isinstance(step, SaveFile)
            self.files[step.path] = step.content
            go_on()

    def _ask(self, step: Ask, go_on: Callable[..., None]) -> None:
        now = self.clock.monotonic()
        expiry = now + step.timeout_s
        silence = RequestTimeoutError(f"{step.address} did not answer in {step.timeout_s:g} s")
        told = self.network(step.address, step.command, is_oneway=False)
        if isinstance(told, Held):
            told.give = lambda answer: (
                go_on(error=answer) if isinstance(answer, Exception) else go_on(answer)
            )
            self._at(expiry, lambda: go_on(error=silence))
            return
        answer, after_s = (told.response, told.after_s) if isinstance(told, Late) else (told, 0.0)
        if answer is None or now + after_s >= expiry:
            self._at(expiry, lambda: go_on(error=silence))
        elif isinstance(answer, Exception):
            error = answer
            self._at(now + after_s, lambda: go_on(error=error))
        else:
            response = answer
            self._at(now + after_s, lambda: go_on(response))

    def _call(self, step: Call[Any], go_on: Callable[..., None]) -> None:
        """Treat a coroutine function of the test as a flow, which can await steps."""
        try:
            result = step.function(*step.arguments)
        except Exception as error:
            go_on(error=error)
            return
        if not inspect.iscoroutine(result):
            go_on(result)
            return
        inner: VirtualFlow = self._begin(
            result,
            f"call {step.function}",
            lambda: go_on(inner.result, inner.error),
            self.owner,
        )

    def _side_by_side(self, step: All[Any], go_on: Callable[..., None]) -> None:
        flows: list[VirtualFlow] = []

        def one_ended() -> None:
            if all(each.has_ended for each in flows):
                results = [each.result if each.error is None else each.error for each in flows]
                go_on(results)

        for n, flow in enumerate(step.flows):
            flows.append(self._begin(flow, f"part {n}", one_ended, self.owner))

    def _next_moment(self) -> float:
        return min([self.timeline.next_moment(), *(each.deadline() for each in self.servers)])

    def _at(self, moment: float, action: Callable[[], None]) -> None:
        if moment <= self.timeline.now:
            action()
        else:
            self.timeline.call_at(moment, action)

    def _advance(self, moment: float) -> None:
        self.timeline.go_to(max(moment, self.timeline.now))
        for server in self.servers:
            if server.deadline() <= self.timeline.now:
                server.turn()


def _nothing() -> None:
    """Ignore the result."""


def _unheard(answer: Command | Exception) -> None:
    raise AssertionError(f"no request waits for {answer!r} yet")


def fails(error: GantryError) -> Network:
    """Return a network in which every request fails."""

    def network(address: str, command: Command, *, is_oneway: bool) -> Exception:
        del address, command, is_oneway
        return error

    return network
