"""Runs the core's flows on asyncio: each step becomes I/O, a timer or a function call.

Each started flow has its own task; `close` ends them all. Cancelling the caller of `run` closes the
flow where it waits.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, final

from gantrymq.client.aio.machinery.environment import Environment, Links
from gantrymq.client.core.errors import CancelledInsideError, StateError
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

T = TypeVar("T")


@final
class Driver:
    """The flow driver of one client, bound to the first event loop that uses it."""

    def __init__(
        self, links: Links, environment: Environment, failed: Callable[[str, Exception], None]
    ) -> None:
        """`failed` is called with the name of a started flow and the exception that ended it."""
        self._links = links
        self._environment = environment
        self._failed = failed
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_of_parent = False

    def orphan(self) -> None:
        """Disable the driver in a forked child, so that it does not touch the parent's
        connections."""
        self.is_of_parent = True

    def must_be_of_this_process(self) -> None:
        """Raise StateError in a forked child."""
        if self.is_of_parent:
            raise StateError(
                "this client was made before the process forked: its connections belong to the"
                " parent; make a new one in each child (gunicorn: post_fork, celery:"
                " worker_process_init)"
            )

    def must_be_here(self) -> None:
        """Raise StateError in a forked child, and on any other event loop than the first one
        used."""
        self.must_be_of_this_process()
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif loop is not self._loop:
            raise StateError(
                "this client lives on another event loop, on which it was started: make one for"
                " each loop (each asyncio.run has a loop of its own), or use"
                " gantrymq.client.blocking, which works from any thread"
            )

    def start(self, flow: Flow[None], name: str) -> asyncio.Task[None]:
        """Run the flow concurrently, in a task of its own."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._refuse_elsewhere(flow)
        task = loop.create_task(self._run_alone(flow, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: flow.close())  # for a task cancelled before it began
        return task

    async def close(self, but: asyncio.Task[Any] | None) -> None:
        """Cancel all started flows except one task: the caller's."""
        while tasks := [task for task in self._tasks if task is not but]:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def run(self, flow: Flow[T]) -> T:
        """Return or raise what the flow does. Hot path: every sent message passes here."""
        result: Any = None  # of the last step
        error: Exception | None = None
        if asyncio.get_running_loop() is not self._loop:
            self._refuse_elsewhere(flow)
        try:
            while True:
                try:
                    step = flow.send(result) if error is None else flow.throw(error)
                except StopIteration as stop:
                    return stop.value  # type: ignore[no-any-return]  # T, by the flow's own type
                result = error = None
                try:
                    if type(step) is Ask:
                        connection = self._links.connection(step.address)
                        result = await connection.request(step.command, step.timeout_s)
                    else:
                        result = await self._carry_out(step)
                except Exception as failure:
                    error = failure
        finally:
            flow.close()

    def _refuse_elsewhere(self, flow: Flow[Any]) -> None:
        try:
            self.must_be_here()
        except StateError:
            flow.close()
            raise

    async def _run_alone(self, flow: Flow[None], name: str) -> None:
        try:
            await self.run(flow)
        except Exception as failure:
            self._failed(name, failure)

    async def _carry_out(self, step: Step) -> object:
        if isinstance(step, Wait):
            return await self._wait(step)
        if isinstance(step, Call):
            return await _called(step)
        if isinstance(step, Tell):
            await self._links.connection(step.address).notify(step.command)
            return None
        if isinstance(step, All):
            return await self._side_by_side(step.flows)
        if isinstance(step, LoadFile):
            return await self._environment.load_file(step.path)
        if isinstance(step, Fetch):
            return await self._environment.fetch(step.url, step.timeout_s)
        assert isinstance(step, SaveFile), f"{step!r} is no step"
        await self._environment.save_file(step.path, step.content)
        return None

    async def _side_by_side(self, flows: Sequence[Flow[Any]]) -> list[Any]:
        runs = [self.run(flow) for flow in flows]
        try:
            return await asyncio.gather(*runs, return_exceptions=True)
        finally:
            for flow in flows:  # not begun if the caller was cancelled first
                flow.close()

    async def _wait(self, step: Wait) -> bool:
        woken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        timer = None
        if step.until != FOREVER:
            timer = self._environment.call_at(step.until, _Settle(woken, is_fired=False))
        fired = _Settle(woken, is_fired=True)
        if step.signal is not None:
            step.signal.listen(fired)
        try:
            return await woken
        finally:
            if timer is not None:
                timer.cancel()
            if step.signal is not None:
                step.signal.ignore(fired)


async def _called(call: Call[object]) -> object:
    """Call a user's function. A CancelledError that it raises itself becomes an error of the call
    and does not cancel the flow."""
    try:
        result = call.function(*call.arguments)
        return await result if inspect.isawaitable(result) else result
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise CancelledInsideError(
            f"{call.function} raised CancelledError, but was not cancelled by its caller. It"
            " awaited a task or future that was cancelled."
        ) from error


@final
class _Settle:
    """Wakes one waiting flow, unless it was woken already."""

    __slots__ = ("_is_fired", "_woken")

    def __init__(self, woken: asyncio.Future[bool], *, is_fired: bool) -> None:
        self._woken = woken
        self._is_fired = is_fired

    def __call__(self) -> None:
        if not self._woken.done():
            self._woken.set_result(self._is_fired)
