"""The network of a simulated group: connections that carry ordered bytes, and single messages.

    network.listen(number, port, accept)         accept connections there
    network.connect(place, life, number, port, connected, failed)
    network.post(here, there, do)                a message that arrives, or does not: no order

A cut stops one direction between two nodes. Bytes of connections wait and come when it heals, as
TCP sends them again; single messages are lost. A connection ends for both sides when one closes it
or its process dies; when a machine loses its power the other side hears nothing, until it sends
something to that machine after it came back. Bytes arrive in pieces of any size.

Invariant: of what was sent on a connection its other end gets a prefix, in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, final

from gantrymq.sim.group.group_world import Do, Life, Place, World

# Beyond this nothing goes into a connection: its sender holds back.
WINDOW_BYTES: Final = 256 << 10

CONNECT_SECONDS: Final = 3.0
"""How long one waits for a connection that does not come about."""


@final
@dataclass(slots=True)
class Weather:
    """How bad the network is now: shares of one, and seconds."""

    lost: float = 0.0
    """The share of single messages that are lost."""
    twice: float = 0.0
    """The share that arrives twice, of the messages that may."""
    slow: float = 0.0
    """The share of all messages that take up to `slow_seconds`."""
    slow_seconds: float = 0.0
    torn: float = 0.0
    """The share of data on connections that arrives in pieces."""
    latency: float = 0.0005


@final
class End:
    """One side of a connection. The owner sets `received` and `closed`, and may look at
    `is_held_up`; `drained` is called when that is over."""

    __slots__ = (
        "_due",
        "_network",
        "_on_way",
        "_waiting",
        "closed",
        "drained",
        "in_flight",
        "is_open",
        "life",
        "peer",
        "place",
        "received",
    )

    def __init__(self, network: Network, place: Place, life: Life) -> None:
        self._network = network
        self._due = 0.0
        self._on_way: deque[bytes | None] = deque()
        """What was sent and has not arrived. None is the end."""
        self._waiting = 0
        """So many of these do not arrive before the way is free again."""
        self.closed: Do = _nothing
        self.drained: Do = _nothing
        self.in_flight = 0
        self.is_open = True
        self.life = life
        self.peer: End = self
        self.place = place
        self.received: Callable[[bytes], None] = _ignore

    @property
    def is_held_up(self) -> bool:
        return self.in_flight > WINDOW_BYTES

    def send(self, data: bytes) -> None:
        if self.is_open and data:
            self.in_flight += len(data)
            for piece in self._network.pieces(data):
                self._carry(piece)

    def close(self) -> None:
        """Now here, and there behind what was sent."""
        if self.is_open:
            self.is_open = False
            self._carry(None)
            self._network.forget(self)

    def vanish(self) -> None:
        """The machine has no power: nothing is said, and what was on its way is lost."""
        self.is_open = False
        self._lose_all()
        self.life = GONE

    def _lose_all(self) -> None:
        self._on_way.clear()
        self._waiting = 0

    def _carry(self, piece: bytes | None) -> None:
        self._on_way.append(piece)
        self._set_off()

    def _set_off(self) -> None:
        """One more of what is on its way arrives some time."""
        if self._waits():
            return
        delay = self._network.delay()
        world = self._network.world
        self._due = max(self._due, world.now + delay)
        world.push(self._due, self._arrive, None, None)

    def _waits(self) -> bool:
        """Whether one more has to wait."""
        if self._waiting or self._network.is_cut(self.place.number, self.peer.place.number):
            self._waiting += 1
        return self._waiting > 0

    def _arrive(self) -> None:
        """The first of what is on its way: nothing overtakes what had to wait."""
        peer = self.peer
        if not self._on_way or self._waits():
            return
        piece = self._on_way.popleft()
        if peer.life.is_over:
            if self.is_open and self._network.is_up(peer.place.number):
                self._network.reset(self)
            return
        peer.place.arrive(0.0, lambda: self._hand_over(piece), peer.life)

    def _hand_over(self, piece: bytes | None) -> None:
        peer = self.peer
        if not peer.is_open:
            return
        if piece is None:
            peer.is_open = False
            self._network.forget(peer)
            peer.closed()
            return
        was_held_up = self.is_held_up
        self.in_flight -= len(piece)
        peer.received(piece)
        if was_held_up and not self.is_held_up and self.is_open:
            self.place.arrive(self._network.delay(), self.drained, self.life)

    def go_on(self) -> None:
        """The way is free again: what waited is sent once more."""
        waiting, self._waiting = self._waiting, 0
        for _ in range(waiting):
            self._set_off()

    def break_off(self) -> None:
        """It ends although neither end closed it."""
        if self.is_open and not self.life.is_over:
            self.is_open = False
            self._lose_all()
            self._network.forget(self)
            self.place.arrive(0.0, self.closed, self.life)


@final
class Network:
    """All connections between the nodes of a world."""

    def __init__(self, world: World, random: Random) -> None:
        self.world = world
        self.weather = Weather()
        self._random = random
        self._ends: dict[End, None] = {}
        self._cut_at: dict[tuple[int, int], float] = {}
        self._cuts: dict[tuple[int, int], int] = {}
        self._listeners: dict[tuple[int, int], Callable[[End], bool]] = {}
        self._down: set[int] = set()

    # ------------------------------------------------------------------ weather

    def delay(self) -> float:
        """How long the next thing takes."""
        weather, random = self.weather, self._random.random
        seconds = weather.latency * (0.5 + random())
        if weather.slow and random() < weather.slow:
            seconds += weather.slow_seconds * random()
        return seconds

    def pieces(self, data: bytes) -> list[bytes]:
        torn, random = self.weather.torn, self._random
        if not torn or len(data) < 2 or random.random() >= torn:
            return [data]
        places = sorted({random.randrange(1, len(data)) for _ in range(random.randrange(1, 4))})
        return [data[start:end] for start, end in zip([0, *places], [*places, None], strict=True)]

    def is_cut(self, here: int, there: int) -> bool:
        return (here, there) in self._cuts

    def cut(self, here: int, there: int) -> None:
        """Nothing goes from here to there, until as many heal it as cut it."""
        self._cut_at.setdefault((here, there), self.world.now)
        self._cuts[here, there] = self._cuts.get((here, there), 0) + 1

    def cut_for(self, here: int, there: int) -> float:
        """Seconds since anything went from here to there."""
        return self.world.now - self._cut_at.get((here, there), self.world.now)

    def heal(self, here: int, there: int) -> None:
        count = self._cuts.get((here, there), 0)
        if count > 1:
            self._cuts[here, there] = count - 1
        elif count:
            del self._cuts[here, there], self._cut_at[here, there]
            for end in list(self._ends):
                if (end.place.number, end.peer.place.number) == (here, there):
                    self.world.after(self._random.uniform(0.0, 0.6), end.go_on)

    # ------------------------------------------------------------------ connections

    def listen(self, number: int, port: int, accept: Callable[[End], bool]) -> None:
        """`accept` says whether it takes the connection, and sets the end up."""
        self._listeners[number, port] = accept

    def is_up(self, number: int) -> bool:
        return number not in self._down

    def stop(self, number: int, life: Life, *, has_power: bool) -> None:
        """A process ended, or its machine with it."""
        for key in [key for key in self._listeners if key[0] == number]:
            del self._listeners[key]
        for end in [end for end in self._ends if end.life is life]:
            if has_power:
                end.close()
            else:
                end.vanish()
                self.forget(end)
        if not has_power:
            self._down.add(number)

    def start(self, number: int) -> None:
        """The machine has power."""
        self._down.discard(number)

    def connect(
        self,
        place: Place,
        life: Life,
        number: int,
        port: int,
        connected: Callable[[End], None],
        failed: Do,
    ) -> None:
        """One of the two is called, unless the life ends before."""
        delay = self.delay()

        def knock() -> None:
            accept = self._listeners.get((number, port))
            is_cut = self.is_cut(place.number, number) or self.is_cut(number, place.number)
            if number in self._down or is_cut:
                place.arrive(CONNECT_SECONDS, failed, life)
                return
            there = None if accept is None else self._pair(place, life)
            if accept is None or there is None or not accept(there):
                place.arrive(delay, failed, life)
                return
            here = there.peer
            self._ends[here] = self._ends[there] = None
            place.arrive(self.delay(), lambda: connected(here), life)

        self.world.after(delay, knock)

    def _pair(self, place: Place, life: Life) -> End:
        here, there = End(self, place, life), End(self, place, life)
        here.peer, there.peer = there, here
        return there

    def forget(self, end: End) -> None:
        if not end.peer.is_open:
            self._ends.pop(end, None)
            self._ends.pop(end.peer, None)

    def reset(self, end: End) -> None:
        """The other side does not know this connection."""
        self.world.after(self.delay(), end.break_off)

    def break_some(self, share: float) -> int:
        """So many of the connections break off; how many did."""
        chosen = [end for end in self._ends if end.is_open and self._random.random() < share]
        for end in chosen:
            end.break_off()
            end.peer.break_off()
        return len(chosen)

    # ------------------------------------------------------------------ single messages

    def post(self, here: int, there: int, do: Do, *, may_repeat: bool = False) -> bool:
        """Whether it arrives; only this simulation knows."""
        weather, random = self.weather, self._random.random
        if self.is_cut(here, there) or there in self._down:
            return False
        if weather.lost and random() < weather.lost:
            self.world.tally["lost messages"] += 1
            return False
        self.world.after(self.delay(), do)
        if may_repeat and weather.twice and random() < weather.twice:
            self.world.tally["messages that came twice"] += 1
            self.world.after(self.delay() * 3, do)
        return True


def _nothing() -> None:
    """No listener is there."""


def _ignore(data: bytes) -> None:
    """No reader is there."""


GONE: Final = Life()
GONE.is_over = True
