"""`once(store)`: a listener that is not called again for a message it is done with.

    store = SqlStore.at("seen.db")

    @once(store)
    async def charge(messages): ...

    consumer.subscribe("orders", "*", charge)

What it promises: when a listener has succeeded and the store knows it, no other delivery of that
message within `retention_s` reaches the listener; and of deliveries at the same time, in whichever
process that shares the store, one reaches it, while the others come again later.

What it does not: "exactly once". A process that dies after the listener worked and before the store
knows it leaves a claim behind; when that has run out (`lease_s`) the message is processed again. A
claim is renewed for as long as its listener is awaited, but not while a plain one keeps the event
loop for longer than `lease_s`. A message that is sent twice has two ids: give `key=by_keys` where
the application's own keys say what is the same.

A message is known by its id (UNIQ_KEY), which retries keep. Stores are bounded by `retention_s`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from functools import update_wrapper
from hashlib import sha256
from typing import Any, Final, Protocol, Self, TypeAlias, final

from gantrymq.client.core.errors import ClientError
from gantrymq.client.core.listeners import Listener
from gantrymq.client.core.outcomes import COMMIT, SUCCESS, Later, Outcome
from gantrymq.client.core.received import ReceivedMessage

# As long as a broker may bring a message again: sixteen tries take less than five hours, but a
# group may stand still over a weekend.
RETENTION_S: Final = 7 * 86_400.0

# A listener's time: a consumer's `consume_timeout_s`.
LEASE_S: Final = 900.0

# So that one that fails, or comes late, loses nothing.
RENEWALS_PER_LEASE: Final = 3

# What a column of a database takes. A longer key is its beginning, for people, and its sha256.
KEY_CHARACTERS_MAX: Final = 255

log: Final = logging.getLogger("gantrymq.client")

Sleep: TypeAlias = Callable[[float], Awaitable[object]]

Key: TypeAlias = Callable[[ReceivedMessage], str]
"""What makes two messages the same."""


class Claim(Enum):
    """What a store says of a key."""

    NEW = "new"
    """It is the caller's now, until it is done, released, or the lease is over."""
    DONE = "done"
    BUSY = "busy"
    """Somebody else's."""


class InProgressError(ClientError):
    """Another delivery of the message is being processed: this one comes again later."""


class OnceStore(Protocol):
    """Remembers keys. Its calls may block: they are made in a thread. One call at a time."""

    @property
    def lease_s(self) -> float:
        """How long a claim holds."""

    def claim(self, key: str) -> Claim: ...

    def renew(self, key: str) -> bool:
        """Let the caller's claim hold for another lease; whether it still was there."""

    def done(self, key: str) -> None: ...

    def release(self, key: str) -> None:
        """It was not done: the next delivery may try."""


def by_id(message: ReceivedMessage) -> str:
    return message.id


def by_keys(message: ReceivedMessage) -> str:
    """The application's keys and the topic; the id where a message has none."""
    keys = " ".join(message.keys)
    return f"{message.topic} {keys}" if keys else message.id


def once(
    store: OnceStore, *, key: Key = by_id, sleep: Sleep = asyncio.sleep
) -> Callable[[Listener], Listener]:
    """Wraps a plain or async listener; see the module for what that promises. `sleep` is for tests
    in virtual time."""

    def wrap(listener: Listener) -> Listener:
        return _Once(listener, _Guard(store, key, sleep))

    return wrap


@final
class _Once:
    """A WrappedListener."""

    def __init__(self, listener: Listener, guard: _Guard) -> None:
        self.inner = listener
        self._guard = guard
        update_wrapper(self, listener)

    def around(self, listener: Listener) -> Listener:
        return _Once(listener, self._guard)

    async def __call__(self, messages: list[ReceivedMessage]) -> Outcome:
        guard = self._guard
        fresh = await guard.claim(messages)
        if not fresh:
            return SUCCESS
        try:
            result = self.inner([message for _, message in fresh])
            if not inspect.isawaitable(result):
                outcome = result
            else:
                async with guard.held(fresh):
                    outcome = await result
        except BaseException:
            await guard.settle(fresh, 0)
            raise
        return await guard.judged(messages, fresh, outcome)


_Fresh: TypeAlias = list[tuple[str, ReceivedMessage]]


@final
class _Guard:
    def __init__(self, store: OnceStore, key: Key, sleep: Sleep) -> None:
        self._store = store
        self._key = key
        self._sleep = sleep

    async def claim(self, messages: Sequence[ReceivedMessage]) -> _Fresh:
        """Those that nobody is done with; raises InProgressError."""
        return await asyncio.to_thread(self._claim, messages)

    def _claim(self, messages: Sequence[ReceivedMessage]) -> _Fresh:
        fresh: dict[str, ReceivedMessage] = {}
        try:
            for message in messages:
                name = _short(self._key(message))
                claim = Claim.DONE if name in fresh else self._store.claim(name)
                if claim is Claim.BUSY:
                    raise _in_progress(name)  # noqa: TRY301 - what was claimed is released here
                if claim is Claim.NEW:
                    fresh[name] = message
        except BaseException:
            for name in fresh:
                self._store.release(name)
            raise
        return list(fresh.items())

    @asynccontextmanager
    async def held(self, fresh: _Fresh) -> AsyncIterator[None]:
        """Their claims are renewed meanwhile, and no renewal is under way afterwards."""
        renewing = asyncio.create_task(self._keep_renewing(fresh))
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])

    async def _keep_renewing(self, fresh: _Fresh) -> None:
        while True:
            await self._sleep(self._store.lease_s / RENEWALS_PER_LEASE)
            renewal = asyncio.ensure_future(asyncio.to_thread(self._renew, fresh))
            try:
                await asyncio.shield(renewal)
            except asyncio.CancelledError:
                await asyncio.wait([renewal])
                raise
            except Exception as error:  # of any store: perhaps the next one succeeds in time
                log.warning("a claim was not renewed, tried again soon: %s", error)

    def _renew(self, fresh: _Fresh) -> None:
        for name, _ in fresh:
            if not self._store.renew(name):
                log.warning("%s was being processed for too long: another one may have it", name)

    async def judged(
        self, messages: Sequence[ReceivedMessage], fresh: _Fresh, outcome: Outcome
    ) -> Outcome:
        """The outcome for all messages, by that for the fresh ones."""
        if outcome in {None, SUCCESS, COMMIT}:
            await self.settle(fresh, len(fresh))
            return outcome
        if not isinstance(outcome, Later) or not outcome.done:
            await self.settle(fresh, 0)
            return outcome
        await self.settle(fresh, outcome.done)
        if outcome.done >= len(fresh):
            return SUCCESS
        first_open = fresh[outcome.done][1]
        place = next(n for n, message in enumerate(messages) if message is first_open)
        return Later(outcome.level, done=place)

    async def settle(self, fresh: _Fresh, done: int) -> None:
        """The first ones are done. Even when the consumer is being closed: it is not cancelled."""
        await asyncio.shield(asyncio.to_thread(self._settle, fresh, done))

    def _settle(self, fresh: _Fresh, done: int) -> None:
        for number, (name, _) in enumerate(fresh):
            if number < done:
                self._store.done(name)
            else:
                self._store.release(name)


def _short(key: str) -> str:
    """The key as stores have it. Never its beginning alone: keys with the same one are not the
    same, and whoever came second would count as done."""
    if len(key) <= KEY_CHARACTERS_MAX:
        return key
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key[: KEY_CHARACTERS_MAX - len(digest) - 1]}#{digest}"


def _in_progress(name: str) -> InProgressError:
    return InProgressError(
        f"{name} is being processed elsewhere, or was when a process died: it comes again later"
    )


# ---------------------------------------------------------------------- SQL


class Cursor(Protocol):
    """As DB-API 2.0 has it. Any: rows and parameters are whatever a database takes."""

    @property
    def rowcount(self) -> int: ...

    def execute(self, operation: str, parameters: Any, /) -> object: ...

    def fetchone(self) -> Any: ...

    def close(self) -> object: ...


class Connection(Protocol):
    """As DB-API 2.0 has it."""

    def cursor(self) -> Cursor: ...

    def close(self) -> object: ...

    def commit(self) -> object: ...

    def rollback(self) -> object: ...


# Calls between which what is too old is not looked for.
_CLEAN_EVERY: Final = 1_000

_CREATE: Final = """CREATE TABLE IF NOT EXISTS gantry_once (
    message_key VARCHAR(255) NOT NULL PRIMARY KEY,
    is_done INTEGER NOT NULL,
    until_ms BIGINT NOT NULL
)"""


@final
class SqlStore:
    """A table `gantry_once` behind a DB-API connection, which is the store's alone.

    Processes share it when they share the database. `marker` is how its driver writes a parameter:
    "?" or "%s".
    """

    def __init__(
        self,
        connection: Connection,
        *,
        marker: str = "?",
        retention_s: float = RETENTION_S,
        lease_s: float = LEASE_S,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._connection = connection
        self._marker = marker
        self.lease_s = lease_s
        self._retention_ms = round(retention_s * 1000)
        self._lease_ms = round(lease_s * 1000)
        self._wall_ms = wall_ms
        self._lock = threading.Lock()
        self._calls = 0
        self._change(_CREATE)

    @classmethod
    def at(cls, path: str, *, retention_s: float = RETENTION_S, lease_s: float = LEASE_S) -> Self:
        """An SQLite file, for the processes of one machine."""
        connection = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return cls(connection, retention_s=retention_s, lease_s=lease_s)

    def claim(self, key: str) -> Claim:
        now_ms = self._wall_ms()
        with self._lock:
            self._clean(now_ms)
            due_ms = now_ms + self._lease_ms
            if self._insert(key, due_ms):
                return Claim.NEW
            taken = self._change(
                "UPDATE gantry_once SET is_done = 0, until_ms = ?"
                " WHERE message_key = ? AND until_ms <= ?",
                due_ms,
                key,
                now_ms,
            )
            if taken:
                return Claim.NEW
            row = self._row(key)
            return Claim.DONE if row is not None and row[0] else Claim.BUSY

    def renew(self, key: str) -> bool:
        due_ms = self._wall_ms() + self._lease_ms
        with self._lock:
            statement = "UPDATE gantry_once SET until_ms = ? WHERE message_key = ? AND is_done = 0"
            return self._change(statement, due_ms, key) > 0

    def done(self, key: str) -> None:
        until_ms = self._wall_ms() + self._retention_ms
        with self._lock:
            known = self._change(
                "UPDATE gantry_once SET is_done = 1, until_ms = ? WHERE message_key = ?",
                until_ms,
                key,
            )
            if not known and self._insert(key, until_ms):
                self._change("UPDATE gantry_once SET is_done = 1 WHERE message_key = ?", key)

    def release(self, key: str) -> None:
        with self._lock:
            self._change("DELETE FROM gantry_once WHERE message_key = ? AND is_done = 0", key)

    def close(self) -> None:
        """The connection, too."""
        with self._lock:
            self._connection.close()

    def _insert(self, key: str, until_ms: int) -> bool:
        """Whether it was not there."""
        if self._row(key) is not None:
            return False
        try:
            self._change(
                "INSERT INTO gantry_once (message_key, is_done, until_ms) VALUES (?, 0, ?)",
                key,
                until_ms,
            )
        except Exception:  # each driver has its own: somebody else's row, or a real failure
            if self._row(key) is None:
                raise
            return False
        return True

    def _row(self, key: str) -> Any:  # Any: drivers have rows of their own
        cursor = self._connection.cursor()
        try:
            cursor.execute(
                self._text("SELECT is_done FROM gantry_once WHERE message_key = ?"), (key,)
            )
            row = cursor.fetchone()
            self._connection.commit()
        finally:
            cursor.close()
        return row

    def _clean(self, now_ms: int) -> None:
        if self._calls % _CLEAN_EVERY == 0:
            self._change("DELETE FROM gantry_once WHERE until_ms <= ?", now_ms)
        self._calls += 1

    def _change(self, statement: str, *values: object) -> int:
        """How many rows it was."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._text(statement), values)
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        else:
            return cursor.rowcount
        finally:
            cursor.close()

    def _text(self, statement: str) -> str:
        return statement.replace("?", self._marker)


# ---------------------------------------------------------------------- Redis


class RedisLike(Protocol):
    """What is used of redis.Redis, and of what looks like it."""

    def set(self, name: str, value: str, *, nx: bool = False, px: int | None = None) -> object: ...

    def get(self, name: str) -> object: ...

    def pexpire(self, name: str, time: int) -> object: ...

    def delete(self, name: str) -> object: ...


_CLAIMED: Final = "claimed"
_DONE: Final = "done"


@final
class RedisStore:
    """Keys under a prefix, which run out by themselves. What a Redis forgets - by eviction, or by a
    failover - is processed again."""

    def __init__(
        self,
        redis: RedisLike,
        *,
        prefix: str = "gantry:once:",
        retention_s: float = RETENTION_S,
        lease_s: float = LEASE_S,
    ) -> None:
        self._redis = redis
        self._prefix = prefix
        self.lease_s = lease_s
        self._retention_ms = round(retention_s * 1000)
        self._lease_ms = round(lease_s * 1000)

    def claim(self, key: str) -> Claim:
        name = self._prefix + key
        if self._redis.set(name, _CLAIMED, nx=True, px=self._lease_ms):
            return Claim.NEW
        known = self._redis.get(name)
        return Claim.DONE if known in {_DONE, _DONE.encode()} else Claim.BUSY

    def renew(self, key: str) -> bool:
        return bool(self._redis.pexpire(self._prefix + key, self._lease_ms))

    def done(self, key: str) -> None:
        self._redis.set(self._prefix + key, _DONE, px=self._retention_ms)

    def release(self, key: str) -> None:
        self._redis.delete(self._prefix + key)
