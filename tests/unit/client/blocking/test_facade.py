"""Tests blocking clients: a thread runs the event loop with the asyncio clients."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gantrymq.client.blocking import loop_thread
from gantrymq.client.blocking.consumers import PopConsumer, PullConsumer, PushConsumer
from gantrymq.client.blocking.facade import Facade, in_pool
from gantrymq.client.blocking.loop_thread import LoopThread
from gantrymq.client.core.errors import ClientError, StateError
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.message.outcomes import Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.once import SqlStore, once
from gantrymq.fakes.servers import Servers

FIRST = ConsumeFrom.FIRST_OFFSET


# ---------------------------------------------------------------------- the thread


def test_results_and_errors_reach_the_calling_thread(thread: LoopThread) -> None:
    async def half(number: int) -> float:
        return 1 / number

    assert thread.run(half(2)) == 0.5
    with pytest.raises(ZeroDivisionError):
        thread.run(half(0))
    assert thread.call(threading.current_thread) is not threading.current_thread()


def test_an_interrupted_wait_cancels_its_call(thread: LoopThread) -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(1000)
        finally:
            ended.append("ended")

    with pytest.raises(KeyboardInterrupt):
        thread.run(forever())
    assert ended == ["ended"]


def test_a_result_that_arrives_during_an_interrupt_is_kept(thread: LoopThread) -> None:
    late: list[str] = []

    async def stubborn() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            return "a message"
        return ""

    with pytest.raises(KeyboardInterrupt):
        thread.run(stubborn(), late.append)
    assert late == ["a message"]


def test_a_call_on_the_loops_own_thread_is_refused(thread: LoopThread) -> None:
    def inner() -> None:
        thread.call(list)

    with pytest.raises(StateError, match="own event loop"):
        thread.call(inner)


def test_a_call_in_a_forked_child_is_refused_with_advice(thread: LoopThread) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            thread.call(list)
        except StateError as error:
            os.write(writing, str(error).encode())
        fresh = loop_thread.join()
        os.write(writing, str(fresh.call(lambda: " and a new one works")).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        text = told.read()
    assert "before the process forked" in text
    assert text.endswith("and a new one works")


def test_the_last_member_ends_the_thread() -> None:
    first, second = loop_thread.join(), loop_thread.join()
    assert first is second
    first.leave()
    assert second.call(lambda: 1) == 1
    second.leave()
    third = loop_thread.join()
    assert third is not first
    third.leave()


def test_a_waiting_call_ends_when_the_last_member_leaves() -> None:
    """The loop's timers are gone with it."""
    thread = loop_thread.join()
    begun = threading.Event()
    ended: list[str] = []

    async def forever() -> None:
        begun.set()
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append("ended")

    def ask() -> None:
        with pytest.raises(StateError, match="closed by another thread"):
            thread.run(forever())
        ended.append("told")

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert begun.wait(10.0)
    thread.leave()
    asking.join(10.0)
    assert ended == ["ended", "told"]


def test_a_loop_that_has_ended_refuses_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread may be seen alive a moment longer."""
    thread = loop_thread.join()
    thread.leave()
    monkeypatch.setattr(thread, "must_be_usable", lambda: None)
    with pytest.raises(StateError, match="The client's thread has ended"):
        thread.call(list)
    with pytest.raises(StateError, match="The client's thread has ended"):
        thread.post(lambda: None)


def test_blocking_listeners_run_in_the_pool(thread: LoopThread) -> None:
    with ThreadPoolExecutor(1, "pool") as pool:

        def plain(number: int) -> str:
            return f"{number} in {threading.current_thread().name[:4]}"

        async def awaited(number: int) -> str:
            return f"{number} in {threading.current_thread().name}"

        coroutine: Callable[[int], str | Awaitable[str]] = awaited

        async def both() -> list[str]:
            return [await in_pool(pool, plain)(1), await in_pool(pool, coroutine)(2)]

        assert thread.run(both()) == ["1 in pool", "2 in gantrymq"]


# ---------------------------------------------------------------------- consumers


def test_messages_are_polled_and_iterated(thread: LoopThread, running: Servers) -> None:
    thread.run(running.store("a", "b", "c"))
    with PullConsumer("G", name_servers=running.name_server, consume_from=FIRST) as consumer:
        consumer.subscribe("T")
        for message in consumer:
            assert message.body == b"a"
            break
    with PullConsumer("G", name_servers=running.name_server) as consumer:
        consumer.subscribe("T")
        assert [each.body for each in consumer.poll(10.0)] == [b"b", b"c"]
        assert len(consumer.assignment) == 4
        consumer.commit()
        assert consumer.committed(consumer.assignment[0]) == 3


def test_popped_messages_are_settled(thread: LoopThread, running: Servers) -> None:
    thread.run(running.store("a", "b"))
    consumer = PopConsumer("G", name_servers=running.name_server, from_first=True)
    consumer.subscribe("T")
    with consumer:
        found = []
        for message in consumer:
            with message:
                found.append(message.body)
            if len(found) == 2:
                break
        assert consumer.receive(0.3) is None
    assert sorted(found) == [b"a", b"b"]
    assert consumer.forgotten == 0


@pytest.mark.parametrize("is_once", [False, True])
def test_a_listener_may_block(
    thread: LoopThread, running: Servers, tmp_path: Path, *, is_once: bool
) -> None:
    thread.run(running.store("a"))
    store = SqlStore.at(str(tmp_path / "seen.db"))
    called = threading.Event()
    names: list[str] = []

    def listener(messages: list[ReceivedMessage]) -> Outcome:
        names.append(threading.current_thread().name)
        called.set()
        return None

    consumer = PushConsumer("G", name_servers=running.name_server, consume_from=FIRST)
    consumer.subscribe("T", "*", once(store)(listener) if is_once else listener)
    with consumer:
        assert called.wait(10.0)
        assert consumer.status()
    store.close()
    assert names[0].startswith("gantrymq-listener")


def test_use_before_the_start_is_refused() -> None:
    consumer = PullConsumer("G", name_servers="127.0.0.1:1")
    with pytest.raises(StateError, match="start it first"):
        consumer.poll()
    consumer.close()


def test_methods_have_the_documentation_of_the_asyncio_client() -> None:
    assert "Continue at this offset" in (PullConsumer.seek.__doc__ or "")
    assert PullConsumer.seek.__name__ == "seek"


def test_system_exit_in_a_listener_does_not_end_the_loop(thread: LoopThread) -> None:
    async def listening(pool: ThreadPoolExecutor) -> None:
        await in_pool(pool, sys.exit)(3)

    with ThreadPoolExecutor(1) as pool, pytest.raises(ClientError, match="main thread"):
        thread.run(listening(pool))
    assert thread.call(lambda: 1) == 1


# ---------------------------------------------------------------------- the façade's life


class Member:
    """Starts, or does not."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.is_closed = False
        self._failure = failure

    async def start(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        self.is_closed = True


def test_a_failed_start_leaves_the_thread_usable(thread: LoopThread) -> None:
    facade = Facade(Member(ValueError("no")))
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            facade.start()
        facade.close()
    assert thread.call(threading.current_thread) is not threading.current_thread()


def test_a_refused_close_can_be_repeated_on_another_thread(thread: LoopThread) -> None:
    member = Member()
    facade = Facade(member)
    facade.start()
    with pytest.raises(StateError, match="own event loop"):
        thread.call(facade.close)
    assert not member.is_closed
    facade.close()
    assert member.is_closed


def test_a_forked_child_leaves_the_block_with_its_own_error(thread: LoopThread) -> None:
    """And not by what a close of its parent's client says."""
    del thread
    facade = Facade(Member())
    child = -1
    try:
        with facade:
            child = os.fork()
            if child == 0:
                sys.exit(7)
    except BaseException as error:
        if child == 0:
            os._exit(7 if isinstance(error, SystemExit) and error.code == 7 else 1)
        raise
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
