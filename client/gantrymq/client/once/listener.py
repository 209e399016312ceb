"""Claims messages in a store before a listener is called, and settles the claims after the call."""

from __future__ import annotations

import asyncio
import inspect
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import update_wrapper
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias, final

from gantrymq.client.core.errors import ClientError
from gantrymq.client.core.message.outcomes import COMMIT, SUCCESS, Later, Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.push.listeners import Listener
from gantrymq.client.once.store import Claim, OnceStore

# A renewal that fails or is late does not lose the claim.
RENEWALS_PER_LEASE: Final = 3

# The width of a database column. A longer key is stored as its beginning and its sha256.
KEY_CHARACTERS_MAX: Final = 255

# Owners are random, so that no two deliveries have the same one.
OWNER_BYTES: Final = 8

log: Final = logging.getLogger("gantrymq.client")

Sleep: TypeAlias = Callable[[float], Awaitable[object]]

Key: TypeAlias = Callable[[ReceivedMessage], str]
"""Returns the key that identifies a message."""


class InProgressError(ClientError):
    """Another delivery of the message is being processed; this one is delivered again later."""


def by_id(message: ReceivedMessage) -> str:
    """Identify a message by its unique id."""
    return message.id


def by_keys(message: ReceivedMessage) -> str:
    """Identify a message by its topic and keys, or by its id if it has no keys."""
    keys = " ".join(message.keys)
    return f"{message.topic} {keys}" if keys else message.id


def once(
    store: OnceStore, *, key: Key = by_id, sleep: Sleep = asyncio.sleep
) -> Callable[[Listener], Listener]:
    """Return a decorator for a plain or async listener; see the package for its guarantees. `sleep`
    is for tests in virtual time."""

    def wrap(listener: Listener) -> Listener:
        return _Once(listener, _Guard(store, key, sleep))

    return wrap


@final
class _Once:
    """A listener that claims messages first; it implements WrappedListener."""

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
                async with guard.renewed(fresh):
                    outcome = await result
        except BaseException:
            await guard.settle(fresh, 0)
            raise
        return await guard.judged(messages, fresh, outcome)


class _Held(NamedTuple):
    """One claim of this delivery."""

    key: str
    owner: str


_Fresh: TypeAlias = list[tuple[_Held, ReceivedMessage]]


@final
class _Guard:
    """The claims of one wrapped listener in its store."""

    def __init__(self, store: OnceStore, key: Key, sleep: Sleep) -> None:
        self._store = store
        self._key = key
        self._sleep = sleep

    async def claim(self, messages: Sequence[ReceivedMessage]) -> _Fresh:
        """Claim the messages; return those not processed yet. Raises InProgressError."""
        return await asyncio.to_thread(self._claim, messages)

    def _claim(self, messages: Sequence[ReceivedMessage]) -> _Fresh:
        fresh: dict[_Held, ReceivedMessage] = {}
        owner = secrets.token_hex(OWNER_BYTES)
        try:
            for message in messages:
                held = _Held(_short(self._key(message)), owner)
                claim = Claim.DONE if held in fresh else self._store.claim(*held)
                if claim is Claim.BUSY:
                    raise _in_progress(held.key)  # noqa: TRY301 - earlier claims are released here
                if claim is Claim.NEW:
                    fresh[held] = message
        except BaseException:
            for held in fresh:
                self._store.release(*held)
            raise
        return list(fresh.items())

    @asynccontextmanager
    async def renewed(self, fresh: _Fresh) -> AsyncIterator[None]:
        """Renew the claims while the listener runs; no renewal runs after the block."""
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
            except Exception as error:  # a store's error: the next renewal may succeed in time
                log.warning("claim renewal failed, retrying error=%s", error)

    def _renew(self, fresh: _Fresh) -> None:
        for held, _ in fresh:
            if not self._store.renew(*held):
                log.warning(
                    "claim lost key=%s: processing took longer than the lease; another delivery may"
                    " own it",
                    held.key,
                )

    async def judged(
        self, messages: Sequence[ReceivedMessage], fresh: _Fresh, outcome: Outcome
    ) -> Outcome:
        """Settle the claims; return the outcome for all messages, made from that for the fresh."""
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
        position = next(n for n, message in enumerate(messages) if message is first_open)
        return Later(outcome.level, done=position)

    async def settle(self, fresh: _Fresh, done: int) -> None:
        """Mark the first `done` messages as processed and release the others. A cancellation does
        not interrupt it, so that closing a consumer loses no outcome."""
        await asyncio.shield(asyncio.to_thread(self._settle, fresh, done))

    def _settle(self, fresh: _Fresh, done: int) -> None:
        for number, (held, _) in enumerate(fresh):
            if number < done:
                self._store.done(held.key)
            else:
                self._store.release(*held)


def _short(key: str) -> str:
    """Return the key as stores keep it. A long key includes its hash, because two keys with the
    same beginning are different messages."""
    if len(key) <= KEY_CHARACTERS_MAX:
        return key
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key[: KEY_CHARACTERS_MAX - len(digest) - 1]}#{digest}"


def _in_progress(name: str) -> InProgressError:
    return InProgressError(
        f"{name} is being processed by another delivery, or was when a process died. It is"
        " delivered again later."
    )
