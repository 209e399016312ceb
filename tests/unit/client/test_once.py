"""A listener that is not called again for what it is done with."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.client.core.listeners import Listener
from gantrymq.client.core.outcomes import LATER, SUCCESS, Later, Outcome
from gantrymq.client.core.received import ReceivedMessage
from gantrymq.client.once import (
    Claim,
    InProgressError,
    OnceStore,
    RedisStore,
    SqlStore,
    by_keys,
    once,
)
from gantrymq.fakes.broker import IDENTITY
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record


def message(unique: str, keys: str = "") -> ReceivedMessage:
    named = {"UNIQ_KEY": unique, **({"KEYS": keys} if keys else {})}
    host = IDENTITY.store_host
    record = Record(b"T", b"", properties=properties.encode(named), born_host=host, store_host=host)
    return ReceivedMessage(record, MessageQueue("T", "broker-a", 0))


class Clock:
    now_ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now_ms


class Redis:
    """One that says what redis.Redis says; time is the test's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[str, int]] = {}

    def set(self, name: str, value: str, *, nx: bool = False, px: int | None = None) -> bool | None:
        if nx and self.get(name) is not None:
            return None
        self._known[name] = (value, self._clock() + (px or 1 << 60))
        return True

    def get(self, name: str) -> bytes | None:
        value, until_ms = self._known.get(name, ("", 0))
        return value.encode() if until_ms > self._clock() else None

    def pexpire(self, name: str, time: int) -> bool:
        value = self.get(name)
        if value is not None:
            self._known[name] = (value.decode(), self._clock() + time)
        return value is not None

    def delete(self, name: str) -> int:
        return self._known.pop(name, None) is not None


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sql", "redis"])
def store(request: pytest.FixtureRequest, clock: Clock) -> Iterator[OnceStore]:
    if request.param == "redis":
        yield RedisStore(Redis(clock), retention_s=100.0, lease_s=10.0)
        return
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    yield SqlStore(connection, retention_s=100.0, lease_s=10.0, wall_ms=clock)
    connection.close()


# ---------------------------------------------------------------------- stores


def test_a_key_is_claimed_once_and_done_for_long(store: OnceStore, clock: Clock) -> None:
    assert store.claim("k") is Claim.NEW
    assert store.claim("k") is Claim.BUSY
    store.done("k")
    assert store.claim("k") is Claim.DONE
    clock.now_ms += 99_000
    assert store.claim("k") is Claim.DONE
    clock.now_ms += 2_000
    assert store.claim("k") is Claim.NEW


def test_what_was_released_or_left_behind_can_be_claimed(store: OnceStore, clock: Clock) -> None:
    assert store.claim("k") is Claim.NEW
    store.release("k")
    assert store.claim("k") is Claim.NEW
    clock.now_ms += 10_001
    assert store.claim("k") is Claim.NEW
    clock.now_ms += 5_000
    assert store.claim("k") is Claim.BUSY


def test_who_took_too_long_is_done_all_the_same(store: OnceStore, clock: Clock) -> None:
    assert store.claim("k") is Claim.NEW
    clock.now_ms += 11_000
    store.done("k")
    assert store.claim("k") is Claim.DONE


def test_old_rows_are_removed(clock: Clock) -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    store = SqlStore(connection, retention_s=100.0, lease_s=10.0, wall_ms=clock)
    for n in range(10):
        store.claim(f"k{n}")
        store.done(f"k{n}")
    clock.now_ms += 200_000
    for n in range(1_000):
        store.claim(f"n{n}")
        store.release(f"n{n}")
    assert connection.execute("SELECT count(*) FROM gantry_once").fetchone() == (0,)
    connection.close()


def test_a_file_is_shared_by_those_who_open_it(tmp_path: Path) -> None:
    path = str(tmp_path / "seen.db")
    first, second = SqlStore.at(path), SqlStore.at(path)
    assert first.claim("k") is Claim.NEW
    assert second.claim("k") is Claim.BUSY
    first.done("k")
    assert second.claim("k") is Claim.DONE
    first.close()
    second.close()


# ---------------------------------------------------------------------- listeners


class Listened:
    def __init__(self, outcome: Outcome = SUCCESS) -> None:
        self.seen: list[str] = []
        self.outcome = outcome

    def __call__(self, messages: list[ReceivedMessage]) -> Outcome:
        self.seen += [each.id for each in messages]
        return self.outcome


async def call(wrapped: object, *messages: ReceivedMessage) -> Outcome:
    assert callable(wrapped)
    outcome: Outcome = await wrapped(list(messages))
    return outcome


async def test_a_message_that_is_done_does_not_come_again(store: OnceStore) -> None:
    listened = Listened()
    wrapped = once(store)(listened)
    assert await call(wrapped, message("a")) is SUCCESS
    assert await call(wrapped, message("a"), message("b"), message("b")) is SUCCESS
    assert listened.seen == ["a", "b"]


async def test_a_message_that_failed_comes_again(store: OnceStore) -> None:
    listened = Listened(LATER)
    wrapped = once(store)(listened)
    assert await call(wrapped, message("a")) is LATER
    listened.outcome = None
    assert await call(wrapped, message("a")) is None
    assert listened.seen == ["a", "a"]

    async def fail(messages: list[ReceivedMessage]) -> Outcome:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await call(once(store)(fail), message("b"))
    assert store.claim("b") is Claim.NEW


async def test_a_batch_may_be_done_in_part(store: OnceStore) -> None:
    store.claim("seen")
    store.done("seen")
    listened = Listened(Later(done=1))
    outcome = await call(once(store)(listened), message("a"), message("seen"), message("b"))
    assert outcome == Later(done=2)
    assert store.claim("a") is Claim.DONE
    assert store.claim("b") is Claim.NEW


async def test_of_two_at_once_one_waits_for_the_other(store: OnceStore) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(messages: list[ReceivedMessage]) -> Outcome:
        entered.set()
        await leave.wait()
        return SUCCESS

    wrapped = once(store)(slow)
    first = asyncio.ensure_future(call(wrapped, message("a")))
    await entered.wait()
    with pytest.raises(InProgressError):
        await call(wrapped, message("b"), message("a"))
    assert store.claim("b") is Claim.NEW
    leave.set()
    assert await first is SUCCESS
    assert store.claim("a") is Claim.DONE


async def test_keys_may_say_what_is_the_same(store: OnceStore) -> None:
    listened = Listened()
    wrapped = once(store, key=by_keys)(listened)
    await call(wrapped, message("a", "order-1"), message("b", "order-1"), message("c"))
    assert listened.seen == ["a", "c"]


async def test_keys_that_differ_only_at_their_end_are_two(store: OnceStore) -> None:
    listened = Listened()
    wrapped = once(store, key=by_keys)(listened)
    url = "https://shop.example/" + "a" * 240 + "?order="
    for unique in "abcab":
        assert await call(wrapped, message(unique, url + unique)) is SUCCESS
    assert listened.seen == ["a", "b", "c"]


async def test_no_store_is_given_a_longer_key_than_it_takes(clock: Clock) -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    store = SqlStore(connection, wall_ms=clock)
    wrapped = once(store, key=by_keys)(Listened())
    for length in (100, 300, 3_000):
        await call(wrapped, message("a", "k" * length))
    names = [row[0] for row in connection.execute("SELECT message_key FROM gantry_once")]
    assert sorted(map(len, names)) == [102, 255, 255]
    connection.close()


# ---------------------------------------------------------------------- long listeners


class Pauses:
    """Virtual time of the stores: passes while somebody waits, for as long as is asked."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._end_ms = clock() + round(seconds * 1000)
        self.is_over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Of the only one who waits."""
        self._clock.now_ms += round(seconds * 1000)
        if self._clock() >= self._end_ms:
            self.is_over.set()
            await asyncio.Event().wait()


async def test_a_claim_holds_for_as_long_as_its_listener_takes(
    store: OnceStore, clock: Clock
) -> None:
    pauses, ended = Pauses(clock, 35.0), asyncio.Event()

    @once(store, sleep=pauses.sleep)
    async def slow(messages: list[ReceivedMessage]) -> Outcome:
        del messages
        await ended.wait()
        return SUCCESS

    first = asyncio.ensure_future(_called(slow))
    await pauses.is_over.wait()
    with pytest.raises(InProgressError):
        await _called(slow)
    ended.set()
    assert await first is SUCCESS
    clock.now_ms += 50_000
    assert store.claim("A") is Claim.DONE


async def _called(listener: Listener) -> object:
    result = listener([message("A")])
    assert inspect.isawaitable(result)
    return await result


def test_only_what_is_claimed_is_renewed(store: OnceStore, clock: Clock) -> None:
    assert not store.renew("A")
    assert store.claim("A") is Claim.NEW
    clock.now_ms += 9_000
    assert store.renew("A")
    clock.now_ms += 9_000
    assert store.claim("A") is Claim.BUSY
    store.release("A")
    assert not store.renew("A")
