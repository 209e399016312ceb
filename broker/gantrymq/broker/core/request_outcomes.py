"""Runs the tasks of requests, answers them at their end, and counts the outcomes of all requests.

    admitted      the limits of the broker and the quotas leave room for the request
    start         its task begins; the memory of the request is charged
    ended, failed, dropped
                  the memory is released, and the request is answered or released

Invariant: the memory of each started request is released once.
"""

from __future__ import annotations

from functools import partial
from typing import Final, final

from gantrymq.base.errors import GantryError, RemoteError
from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.broker.core.engine import waiting_request_memory
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.figures.requests import ONEWAY, RequestFigures
from gantrymq.broker.core.messages import ANSWERED_LATER, SILENT, Outcome, Reply, Request
from gantrymq.broker.core.processor.handler import Handler, carry_out_later
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import failed, overloaded
from gantrymq.wire.codes import ResponseCode

# Limit of requests that wait for the store, a client or a file, over all connections. The session
# of each connection has its own limit.
TASKS_MAX: Final = 50_000

_BUSY: Final = int(ResponseCode.SYSTEM_BUSY)


@final
class RequestOutcomes:
    """The requests that are under way, and the counts of their outcomes. `Broker` owns it."""

    __slots__ = ("_figures", "_memory", "_state")

    def __init__(self, state: State) -> None:
        self._figures: RequestFigures = state.request_figures
        self._memory: MemoryAccount = state.memory
        self._state: State = state
        state.task_runner.dropped = self._dropped

    def admitted(self, request: Request, handler: Handler) -> Handler | Reply:
        """The handler of the request, delayed if its quota says so; or the refusal."""
        state = self._state
        if state.quotas.is_on:
            admitted = state.quotas.gate.admit(request)
            if isinstance(admitted, Reply):
                return admitted
            if admitted is not None:
                handler = partial(carry_out_later, handler=handler, wait=admitted)
        if len(state.task_runner) >= TASKS_MAX:
            return Reply(overloaded("the store", 0))
        kept_bytes = waiting_request_memory.kept_of(request)
        if kept_bytes:
            overrun = self._memory.overrun(request.channel, Kind.BODIES, kept_bytes)
            if overrun is not None:
                return Reply(waiting_request_memory.no_room_for_bodies(overrun.text))
        return handler

    def start(self, request: Request, task: Task[Outcome], now: float) -> None:
        """Start the task of a request that was admitted."""
        kept_bytes = waiting_request_memory.kept_of(request)
        if kept_bytes:
            self._memory.add(request.channel, Kind.BODIES, kept_bytes)
        self._state.task_runner.start(
            task,
            lambda result: self._ended(request, result, now),
            lambda error: self._failed(request, error, now),
            request,
        )

    def counted(
        self, request: Request, outcome: Outcome, code: int, seconds: float = 0.0
    ) -> Outcome:
        """Count the outcome of a request. Returns the outcome; that of a oneway request is
        silent."""
        if isinstance(outcome, Reply):
            answer = outcome.command
            if answer.code == _BUSY:
                self._figures.note_refusal(answer.remark)
            if request.command.is_oneway:
                self._figures.note(code, answer.code, seconds, ONEWAY)
                return SILENT
            self._figures.note(code, answer.code, seconds)
        return outcome

    def _ended(self, request: Request, outcome: object, began: float) -> None:
        """Answer a request whose task has ended."""
        self._release_memory(request)
        if isinstance(outcome, Reply):
            self.counted(request, outcome, request.command.code, self._state.now - began)
            self._state.effects.answer(request, outcome.command)
        elif outcome is SILENT:
            self._state.effects.release(request)
        else:
            assert outcome is ANSWERED_LATER, f"{outcome!r} is no outcome"

    def _failed(self, request: Request, error: Exception, began: float) -> None:
        """Answer a request whose task raised an exception."""
        self._release_memory(request)
        code = request.command.code
        if not isinstance(error, GantryError):
            text = f"request handler raised an exception code={code}"
            self._state.effects.broken(text, error)
        text = str(error) if isinstance(error, RemoteError) else f"{type(error).__name__}: {error}"
        reply = Reply(failed(text))
        self.counted(request, reply, code, self._state.now - began)
        self._state.effects.answer(request, reply.command)

    def _dropped(self, request: Request) -> None:
        """Release a read-only request that was cancelled because its connection closed."""
        self._release_memory(request)
        self._state.effects.release(request)

    def _release_memory(self, request: Request) -> None:
        kept_bytes = waiting_request_memory.kept_of(request)
        if kept_bytes:
            self._memory.add(request.channel, Kind.BODIES, -kept_bytes)
