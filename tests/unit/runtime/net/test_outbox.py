"""Tests that channels with output are flushed once a round of the loop.

A channel that fails does not keep the others from it.
"""

from __future__ import annotations

import asyncio

from gantrymq.runtime.net.outbox import Outbox


class Noted:
    """A channel that notes when it is flushed."""

    def __init__(self, name: str, flushed: list[str], error: Exception | None = None) -> None:
        self._name = name
        self._flushed = flushed
        self._error = error

    def flush(self) -> None:
        self._flushed.append(self._name)
        if self._error is not None:
            raise self._error


async def test_channels_with_output_are_flushed_in_order_in_the_next_round() -> None:
    outbox, flushed = Outbox(), list[str]()
    for name in "abc":
        outbox.add(Noted(name, flushed))
    assert flushed == []
    await asyncio.sleep(0)
    assert flushed == ["a", "b", "c"]
    outbox.add(Noted("d", flushed))
    await asyncio.sleep(0)
    assert flushed == ["a", "b", "c", "d"]


async def test_explicit_flush_does_not_wait_for_the_loop() -> None:
    outbox, flushed = Outbox(), list[str]()
    outbox.gather()
    outbox.add(Noted("a", flushed))
    await asyncio.sleep(0)
    assert flushed == [], "the owner said that it flushes"
    outbox.flush()
    assert flushed == ["a"]
    outbox.add(Noted("b", flushed))
    await asyncio.sleep(0)
    assert flushed == ["a", "b"], "the loop does it again afterwards"


async def test_scheduled_channel_is_flushed_once() -> None:
    outbox, flushed = Outbox(), list[str]()
    outbox.add(Noted("a", flushed))
    outbox.gather()
    outbox.add(Noted("b", flushed))
    outbox.flush()
    await asyncio.sleep(0)
    assert flushed == ["a", "b"]


async def test_error_of_one_channel_is_logged_and_does_not_affect_others() -> None:
    told: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    outbox, flushed = Outbox(), list[str]()
    error = ValueError("a bug")
    outbox.add(Noted("a", flushed, error))
    outbox.add(Noted("b", flushed))
    await asyncio.sleep(0)
    assert flushed == ["a", "b"]
    assert [context["exception"] for context in told] == [error]
