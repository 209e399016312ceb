"""Tests listeners that are not called again for processed messages."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.client.core.message.outcomes import LATER, SUCCESS, Later, Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.push.listeners import Listener
from gantrymq.client.once import (
    Claim,
    InProgressError,
    OnceStore,
    RedisStore,
    SqlStore,
    by_keys,
    once,
)
from gantrymq.fakes.brokers.broker import IDENTITY
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

    def eval(self, script: str, numkeys: int, *keys_and_args: str) -> object:
        """What the scripts of the store say."""
        assert numkeys == 1
        name, expected, *arguments = keys_and_args
        if self.get(name) != expected.encode():
            return 0
        if "'pexpire'" in script:
            (milliseconds,) = arguments
            self._known[name] = (expected, self._clock() + int(milliseconds))
        else:
            assert "'del'" in script
            del self._known[name]
        return 1


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


def test_a_key_is_claimed_once_and_stays_done(store: OnceStore, clock: Clock) -> None:
    assert store.claim("k", "me") is Claim.NEW
    assert store.claim("k", "me") is Claim.BUSY
    store.done("k")
    assert store.claim("k", "me") is Claim.DONE
    clock.now_ms += 99_000
    assert store.claim("k", "me") is Claim.DONE
    clock.now_ms += 2_000
    assert store.claim("k", "me") is Claim.NEW


def test_released_and_expired_keys_can_be_claimed(store: OnceStore, clock: Clock) -> None:
    assert store.claim("k", "me") is Claim.NEW
    store.release("k", "me")
    assert store.claim("k", "me") is Claim.NEW
    clock.now_ms += 10_001
    assert store.claim("k", "me") is Claim.NEW
    clock.now_ms += 5_000
    assert store.claim("k", "me") is Claim.BUSY


def test_a_late_done_still_counts(store: OnceStore, clock: Clock) -> None:
    assert store.claim("k", "me") is Claim.NEW
    clock.now_ms += 11_000
    store.done("k")
    assert store.claim("k", "me") is Claim.DONE


def test_a_late_owner_does_not_change_the_next_claim(store: OnceStore, clock: Clock) -> None:
    assert store.claim("k", "first") is Claim.NEW
    clock.now_ms += 11_000
    assert store.claim("k", "second") is Claim.NEW
    assert not store.renew("k", "first")
    store.release("k", "first")
    assert store.claim("k", "third") is Claim.BUSY
    assert store.renew("k", "second")


def test_a_done_key_stays_done_for_both_owners(store: OnceStore, clock: Clock) -> None:
    assert store.claim("k", "first") is Claim.NEW
    clock.now_ms += 11_000
    assert store.claim("k", "second") is Claim.NEW
    store.done("k")
    assert not store.renew("k", "second")
    store.release("k", "second")
    clock.now_ms += 50_000
    assert store.claim("k", "third") is Claim.DONE


def test_a_table_without_owners_is_upgraded(clock: Clock) -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        "CREATE TABLE gantry_once (message_key VARCHAR(255) NOT NULL PRIMARY KEY,"
        " is_done INTEGER NOT NULL, until_ms BIGINT NOT NULL)"
    )
    until_ms = clock() + 1_000
    connection.execute("INSERT INTO gantry_once VALUES ('done', 1, ?)", (until_ms,))
    for _ in range(2):
        store = SqlStore(connection, wall_ms=clock)
        assert store.claim("done", "me") is Claim.DONE
        assert store.claim("k", "me") is Claim.NEW
        store.release("k", "me")
    connection.close()


def test_old_rows_are_removed(clock: Clock) -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    store = SqlStore(connection, retention_s=100.0, lease_s=10.0, wall_ms=clock)
    for n in range(10):
        store.claim(f"k{n}", "me")
        store.done(f"k{n}")
    clock.now_ms += 200_000
    for n in range(1_000):
        store.claim(f"n{n}", "me")
        store.release(f"n{n}", "me")
    assert connection.execute("SELECT count(*) FROM gantry_once").fetchone() == (0,)
    connection.close()


def test_a_file_is_shared_by_its_stores(tmp_path: Path) -> None:
    path = str(tmp_path / "seen.db")
    first, second = SqlStore.at(path), SqlStore.at(path)
    assert first.claim("k", "me") is Claim.NEW
    assert second.claim("k", "me") is Claim.BUSY
    first.done("k")
    assert second.claim("k", "me") is Claim.DONE
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


async def test_a_processed_message_is_not_delivered_again(store: OnceStore) -> None:
    listened = Listened()
    wrapped = once(store)(listened)
    assert await call(wrapped, message("a")) is SUCCESS
    assert await call(wrapped, message("a"), message("b"), message("b")) is SUCCESS
    assert listened.seen == ["a", "b"]


async def test_a_failed_message_is_delivered_again(store: OnceStore) -> None:
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
    assert store.claim("b", "me") is Claim.NEW


async def test_an_invalid_outcome_leaves_no_claim(store: OnceStore) -> None:
    listened = Listened([])  # type: ignore[arg-type]  # as careless users do
    await call(once(store)(listened), message("a"))
    assert listened.seen == ["a"]
    assert store.claim("a", "me") is Claim.NEW


async def test_a_batch_can_be_processed_in_part(store: OnceStore) -> None:
    store.claim("seen", "me")
    store.done("seen")
    listened = Listened(Later(done=1))
    outcome = await call(once(store)(listened), message("a"), message("seen"), message("b"))
    assert outcome == Later(done=2)
    assert store.claim("a", "me") is Claim.DONE
    assert store.claim("b", "me") is Claim.NEW


async def test_of_two_concurrent_deliveries_one_is_refused(store: OnceStore) -> None:
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
    assert store.claim("b", "me") is Claim.NEW
    leave.set()
    assert await first is SUCCESS
    assert store.claim("a", "me") is Claim.DONE


async def test_application_keys_can_identify_messages(store: OnceStore) -> None:
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


async def test_stores_get_keys_of_bounded_length(clock: Clock) -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    store = SqlStore(connection, wall_ms=clock)
    wrapped = once(store, key=by_keys)(Listened())
    for length in (100, 300, 3_000):
        await call(wrapped, message("a", "k" * length))
    names = [row[0] for row in connection.execute("SELECT message_key FROM gantry_once")]
    assert sorted(map(len, names)) == [102, 255, 255]
    connection.close()


async def test_each_delivery_claims_for_itself(store: OnceStore, clock: Clock) -> None:
    """The same store, in the same process: the machine slept while the first one was at it."""
    entered, leave = asyncio.Event(), asyncio.Event()

    async def fail_late(messages: list[ReceivedMessage]) -> Outcome:
        del messages
        entered.set()
        await leave.wait()
        return LATER

    first = asyncio.ensure_future(call(once(store)(fail_late), message("a")))
    await entered.wait()
    clock.now_ms += 11_000
    assert store.claim("a", "second") is Claim.NEW
    leave.set()
    assert await first is LATER
    assert store.claim("a", "third") is Claim.BUSY


# ---------------------------------------------------------------------- long listeners


class Pauses:
    """Virtual time of the stores: passes while a caller waits, for as long as is asked."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._end_ms = clock() + round(seconds * 1000)
        self.is_over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """The time of the only waiting caller."""
        self._clock.now_ms += round(seconds * 1000)
        if self._clock() >= self._end_ms:
            self.is_over.set()
            await asyncio.Event().wait()


async def test_a_claim_is_renewed_while_its_listener_runs(store: OnceStore, clock: Clock) -> None:
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
    assert store.claim("A", "me") is Claim.DONE


async def _called(listener: Listener) -> object:
    result = listener([message("A")])
    assert inspect.isawaitable(result)
    return await result


def test_only_owned_claims_are_renewed(store: OnceStore, clock: Clock) -> None:
    assert not store.renew("A", "me")
    assert store.claim("A", "me") is Claim.NEW
    clock.now_ms += 9_000
    assert store.renew("A", "me")
    clock.now_ms += 9_000
    assert store.claim("A", "me") is Claim.BUSY
    store.release("A", "me")
    assert not store.renew("A", "me")
