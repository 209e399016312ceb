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

Each claim has an owner: whoever comes back after its lease, from a machine that slept, neither
renews nor releases the claim of the one who has the message by then.

A message is known by its id (UNIQ_KEY), which retries keep. Stores are bounded by `retention_s`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from functools import update_wrapper
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol, Self, TypeAlias, final

from gantrymq.client.core.errors import ClientError
from gantrymq.client.core.message.outcomes import COMMIT, SUCCESS, Later, Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.push.listeners import Listener

# As long as a broker may bring a message again: sixteen tries take less than five hours, but a
# group may stand still over a weekend.
RETENTION_S: Final = 7 * 86_400.0

# A listener's time: a consumer's `consume_timeout_s`.
LEASE_S: Final = 900.0

# So that one that fails, or comes late, loses nothing.
RENEWALS_PER_LEASE: Final = 3

# What a column of a database takes. A longer key is its beginning, for people, and its sha256.
KEY_CHARACTERS_MAX: Final = 255

# Random ones, which no two deliveries of one message have in common.
OWNER_BYTES: Final = 8

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
    """Remembers keys. Its calls may block: they are made in a thread. One call at a time.

    Claims have owners, each delivery another one: whoever comes back late, from a machine that
    slept, finds the claim of somebody else and leaves it as it is."""

    @property
    def lease_s(self) -> float:
        """How long a claim holds."""

    def claim(self, key: str, owner: str) -> Claim: ...

    def renew(self, key: str, owner: str) -> bool:
        """Let the owner's claim hold for another lease; whether it still was there."""

    def done(self, key: str) -> None:
        """Whoever has the claim by now: the work is done."""

    def release(self, key: str, owner: str) -> None:
        """It was not done: the next delivery may try. Nothing happens to what is somebody else's,
        or done."""


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


class _Held(NamedTuple):
    """A claim of this delivery."""

    key: str
    owner: str


_Fresh: TypeAlias = list[tuple[_Held, ReceivedMessage]]


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
        fresh: dict[_Held, ReceivedMessage] = {}
        owner = secrets.token_hex(OWNER_BYTES)
        try:
            for message in messages:
                held = _Held(_short(self._key(message)), owner)
                claim = Claim.DONE if held in fresh else self._store.claim(*held)
                if claim is Claim.BUSY:
                    raise _in_progress(held.key)  # noqa: TRY301 - what was claimed is released here
                if claim is Claim.NEW:
                    fresh[held] = message
        except BaseException:
            for held in fresh:
                self._store.release(*held)
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
        for held, _ in fresh:
            if not self._store.renew(*held):
                text = "%s was being processed for too long: another one may have it"
                log.warning(text, held.key)

    async def judged(
        self, messages: Sequence[ReceivedMessage], fresh: _Fresh, outcome: Outcome
    ) -> Outcome:
        """The outcome for all messages, by that for the fresh ones."""
        if outcome is None or outcome is SUCCESS or outcome is COMMIT:
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
        for number, (held, _) in enumerate(fresh):
            if number < done:
                self._store.done(held.key)
            else:
                self._store.release(*held)


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
    until_ms BIGINT NOT NULL,
    claimed_by VARCHAR(32)
)"""

# To a table of before claims had owners.
_ADD_OWNERS: Final = "ALTER TABLE gantry_once ADD claimed_by VARCHAR(32)"


_SELECT: Final = "SELECT is_done, claimed_by FROM gantry_once WHERE message_key = ?"

_RENEW_ROW: Final = (
    "UPDATE gantry_once SET until_ms = ? WHERE message_key = ? AND claimed_by = ? AND is_done = 0"
)

_RELEASE_ROW: Final = (
    "DELETE FROM gantry_once WHERE message_key = ? AND claimed_by = ? AND is_done = 0"
)


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
        self._prepare()

    @classmethod
    def at(cls, path: str, *, retention_s: float = RETENTION_S, lease_s: float = LEASE_S) -> Self:
        """An SQLite file, for the processes of one machine."""
        connection = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return cls(connection, retention_s=retention_s, lease_s=lease_s)

    def claim(self, key: str, owner: str) -> Claim:
        now_ms = self._wall_ms()
        with self._lock:
            self._clean(now_ms)
            due_ms = now_ms + self._lease_ms
            if self._insert(key, due_ms, owner):
                return Claim.NEW
            taken = self._change(
                "UPDATE gantry_once SET is_done = 0, until_ms = ?, claimed_by = ?"
                " WHERE message_key = ? AND until_ms <= ?",
                due_ms,
                owner,
                key,
                now_ms,
            )
            if taken:
                return Claim.NEW
            row = self._row(key)
            return Claim.DONE if row is not None and row[0] else Claim.BUSY

    def renew(self, key: str, owner: str) -> bool:
        due_ms = self._wall_ms() + self._lease_ms
        with self._lock:
            return self._change(_RENEW_ROW, due_ms, key, owner) > 0

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

    def release(self, key: str, owner: str) -> None:
        with self._lock:
            self._change(_RELEASE_ROW, key, owner)

    def close(self) -> None:
        """The connection, too."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        self._change(_CREATE)
        try:
            self._row("")
        except Exception:  # each driver has its own: there is no such column
            try:
                self._change(_ADD_OWNERS)
            except Exception:  # somebody else was faster, or it is a real failure
                self._row("")

    def _insert(self, key: str, until_ms: int, owner: str = "") -> bool:
        """Whether it was not there."""
        if self._row(key) is not None:
            return False
        try:
            self._change(
                "INSERT INTO gantry_once (message_key, is_done, until_ms, claimed_by)"
                " VALUES (?, 0, ?, ?)",
                key,
                until_ms,
                owner,
            )
        except Exception:  # each driver has its own: somebody else's row, or a real failure
            if self._row(key) is None:
                raise
            return False
        return True

    def _row(self, key: str) -> Any:  # Any: drivers have rows of their own
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._text(_SELECT), (key,))
            row = cursor.fetchone()
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
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

    def eval(self, script: str, numkeys: int, *keys_and_args: str) -> object: ...


_DONE: Final = "done"

# What is compared and what is done are one step: in between the claim may run out, and become
# somebody else's.
_RENEW: Final = """if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0"""
_RELEASE: Final = """if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0"""


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

    def claim(self, key: str, owner: str) -> Claim:
        name = self._prefix + key
        if self._redis.set(name, _claimed(owner), nx=True, px=self._lease_ms):
            return Claim.NEW
        known = self._redis.get(name)
        return Claim.DONE if known in {_DONE, _DONE.encode()} else Claim.BUSY

    def renew(self, key: str, owner: str) -> bool:
        name, lease_ms = self._prefix + key, str(self._lease_ms)
        return bool(self._redis.eval(_RENEW, 1, name, _claimed(owner), lease_ms))

    def done(self, key: str) -> None:
        self._redis.set(self._prefix + key, _DONE, px=self._retention_ms)

    def release(self, key: str, owner: str) -> None:
        self._redis.eval(_RELEASE, 1, self._prefix + key, _claimed(owner))


def _claimed(owner: str) -> str:
    return f"claimed by {owner}"
