"""Connections in order, in pieces, cut, half open; single messages."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import final

from gantrymq.sim.group.group_world import Life, Place, World
from gantrymq.sim.nodes.group_network import WINDOW_BYTES, End, Network, Weather

PORT = 9


@final
class Pair:
    """Node 1 dials node 2."""

    def __init__(self, weather: Weather | None = None) -> None:
        self.world = World(1)
        self.network = Network(self.world, Random(2))
        self.network.weather = weather or Weather()
        self.places = [Place(self.world, each, str(each), Random(3), 0.0) for each in (1, 2)]
        self.lives = [Life(), Life()]
        self.there: End | None = None
        self.here: End | None = None
        self.received = b""
        self.sent = b""
        self.events: list[str] = []
        self.network.listen(2, PORT, self._accept)

    def _accept(self, end: End) -> bool:
        end.place, end.life = self.places[1], self.lives[1]
        end.received = self._receive
        end.closed = lambda: self.events.append("closed there")
        self.there = end
        return True

    def _receive(self, data: bytes) -> None:
        self.received += data

    def connect(self) -> End:
        self.network.connect(
            self.places[0],
            self.lives[0],
            2,
            PORT,
            self._connected,
            lambda: self.events.append("failed"),
        )
        self.world.run(self.world.now + 2.0)
        assert self.here is not None
        return self.here

    def _connected(self, end: End) -> None:
        self.here = end
        end.closed = lambda: self.events.append("closed here")

    def wait(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)

    def send(self, end: End, number: int) -> None:
        """A piece like no other."""
        piece = bytes([number]) * 20
        self.sent += piece
        end.send(piece)


def test_bytes_arrive_in_order_however_they_are_cut() -> None:
    pair = Pair(Weather(torn=1.0, slow=0.5, slow_seconds=0.5))
    end = pair.connect()
    for number in range(50):
        pair.send(end, number)
        pair.wait(0.01)
    pair.wait(5.0)
    assert pair.received == pair.sent


def test_nothing_overtakes_what_a_cut_held_up() -> None:
    pair = Pair(Weather(slow=0.5, slow_seconds=0.5))
    end = pair.connect()
    for number in range(200):
        pair.send(end, number)
        pair.wait(0.05)
        if number % 10 == 3:
            pair.network.cut(1, 2)
        if number % 10 == 5:
            pair.network.heal(1, 2)
    pair.wait(20.0)
    assert pair.received == pair.sent


def test_what_meets_a_cut_comes_when_it_is_healed() -> None:
    pair = Pair()
    end = pair.connect()
    pair.network.cut(1, 2)
    end.send(b"wait")
    pair.wait(10.0)
    assert pair.received == b""
    pair.network.heal(1, 2)
    end.send(b" for me")
    pair.wait(2.0)
    assert pair.received == b"wait for me"


def test_a_one_way_cut_lets_the_other_way_through() -> None:
    pair = Pair()
    end = pair.connect()
    seen: list[bytes] = []
    end.received = seen.append
    pair.network.cut(1, 2)
    assert pair.there is not None
    pair.there.send(b"hello")
    end.send(b"lost on the way")
    pair.wait(1.0)
    assert (seen, pair.received) == ([b"hello"], b"")


def test_a_process_that_is_killed_is_noticed_behind_what_it_had_sent() -> None:
    pair = Pair()
    pair.connect().send(b"last words")
    pair.lives[0].is_over = True
    pair.network.stop(1, pair.lives[0], has_power=True)
    pair.wait(1.0)
    assert (pair.received, pair.events) == (b"last words", ["closed there"])


def test_a_machine_without_power_is_not_noticed_before_it_is_back() -> None:
    pair = Pair()
    pair.connect()
    pair.lives[0].is_over = True
    pair.network.stop(1, pair.lives[0], has_power=False)
    assert pair.there is not None
    pair.there.send(b"are you there?")
    pair.wait(60.0)
    assert pair.events == []
    pair.network.start(1)
    pair.there.send(b"and now?")
    pair.wait(1.0)
    assert pair.events == ["closed there"]


def test_refused_connection_is_told_at_once_and_a_cut_after_a_while() -> None:
    pair = Pair()
    pair.network.connect(
        pair.places[0], pair.lives[0], 3, PORT, pair._connected, _note(pair, "refused")
    )
    pair.wait(0.1)
    assert pair.events == ["refused"]
    pair.network.cut(2, 1)
    pair.network.connect(
        pair.places[0], pair.lives[0], 2, PORT, pair._connected, _note(pair, "hung")
    )
    pair.wait(0.1)
    assert pair.events == ["refused"]
    pair.wait(4.0)
    assert pair.events == ["refused", "hung"]


def test_sender_is_paused_until_its_bytes_are_read() -> None:
    pair = Pair()
    end = pair.connect()
    end.drained = _note(pair, "drained")
    pair.network.cut(1, 2)
    end.send(bytes(WINDOW_BYTES + 1))
    assert end.is_held_up
    pair.network.heal(1, 2)
    pair.wait(2.0)
    assert pair.events == ["drained"]
    assert end.in_flight == 0


def test_single_messages_are_lost_or_come_twice() -> None:
    pair = Pair(Weather(lost=0.3, twice=0.3))
    seen: list[int] = []
    for number in range(100):
        pair.network.post(1, 2, lambda number=number: seen.append(number), may_repeat=True)  # type: ignore[misc]
    pair.wait(1.0)
    assert len(set(seen)) < 100
    assert len(seen) > len(set(seen))


def _note(pair: Pair, text: str) -> Callable[[], None]:
    return lambda: pair.events.append(text)
