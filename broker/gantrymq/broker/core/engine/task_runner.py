"""Runs tasks, which are generators of steps, against the store, the clients and the files.

Invariants. Each started task ends with one call: `then` with its result, or `failed` with its
exception. Tasks that still wait when the broker stops are dropped, and so are those of a role when
it ends (`end_role`), without a call. Tasks that only read are dropped when their client's
connection ends (`closed`); then `dropped` is called with their request. A task continues in the
turn in which its step was answered, in the order of the answers. An exception in `then` is logged
as a defect, and ends neither the turn nor the tasks after it: one unexpected message must not end
the broker at each start. A broken invariant (AssertionError) and a failed sync in `then` do end the
process.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, TypeAlias, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import GantryError, LocalError
from gantrymq.base.stalls import STALL_SECONDS, StallWatch
from gantrymq.broker.core import messages
from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.engine.tasks import (
    Ask,
    AskBroker,
    AskNameServers,
    Put,
    Read,
    Save,
    Step,
    Task,
    Told,
    Wait,
)
from gantrymq.broker.core.messages import (
    AskClient,
    AwaitRegistration,
    Channel,
    Effects,
    File,
    Request,
)
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.engine import Store
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.read.read_result import Finished
from gantrymq.store.record.put_status import Refused
from gantrymq.wire.codes import RequestCode, request_name
from gantrymq.wire.command import Command

Then: TypeAlias = Callable[[object], None]
Failed: TypeAlias = Callable[[Exception], None]


# Requests without effects, or without effects that a client must learn of: popped messages without
# an answer become visible again. All other tasks run to their end, since a commit is oneway and its
# producer may have gone.
ONLY_READ: Final = frozenset(
    int(code)
    for code in (
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.QUERY_MESSAGE,
        RequestCode.VIEW_MESSAGE_BY_ID,
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
        RequestCode.GET_MAX_OFFSET,
        RequestCode.GET_MIN_OFFSET,
        RequestCode.GET_EARLIEST_MSG_STORETIME,
        RequestCode.QUERY_CONSUME_QUEUE,
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.QUERY_CONSUME_TIME_SPAN,
        RequestCode.GET_TOPIC_STATS_INFO,
        RequestCode.GET_CONSUME_STATS,
        RequestCode.GET_BROKER_CONSUME_STATS,
    )
)


def _release_nothing(request: Request) -> None:
    """The default of `dropped`, for tests."""


@final
class _RunningTask:
    """A generator of steps, and what is called when it ends. `TaskRunner` owns it."""

    __slots__ = ("failed", "generator", "is_held", "is_over", "number", "request", "then")

    def __init__(
        self,
        generator: Task[object],
        then: Then,
        failed: Failed,
        request: Request | None = None,
        *,
        is_held: bool = False,
    ) -> None:
        self.is_held: bool = is_held
        self.is_over: bool = False
        self.number: int = 0
        """The number of the step that it waits for."""
        self.request: Request | None = request
        self.generator: Task[object] = generator
        self.then: Then = then
        self.failed: Failed = failed


@final
class TaskRunner:
    """The task runner of one broker; `Broker` passes it the answers of store, clients and files."""

    __slots__ = (
        "_asking",
        "_effects",
        "_files",
        "_in_role",
        "_last_number",
        "_putting",
        "_reading",
        "_reading_for",
        "_saving",
        "_stalls",
        "_store",
        "_waiting",
        "dropped",
        "has_new_puts",
    )

    def __init__(
        self, store: Store, files: Files, effects: Effects, stalls: StallWatch | None = None
    ) -> None:
        self._stalls: StallWatch = stalls or StallWatch()
        self._store: Store = store
        self._files: Files = files
        self._effects: Effects = effects
        self._in_role: dict[_RunningTask, None] = {}
        self._last_number = 0
        self._putting: dict[int, _RunningTask] = {}
        self._reading: dict[int, _RunningTask] = {}
        self._reading_for: dict[Channel, dict[_RunningTask, None]] = {}
        """By connection, the tasks that are dropped with it while they read."""
        self.dropped: Callable[[Request], None] = _release_nothing
        self._asking: dict[int, _RunningTask] = {}
        self._saving: dict[int, _RunningTask] = {}
        self._waiting: list[tuple[float, int, _RunningTask]] = []
        self.has_new_puts = False
        """Whether something was put since the owner last reset this."""

    def __len__(self) -> int:
        return (
            len(self._putting)
            + len(self._reading)
            + len(self._asking)
            + len(self._saving)
            + len(self._waiting)
        )

    def start(
        self,
        generator: Task[object],
        then: Then,
        failed: Failed,
        request: Request | None = None,
        *,
        is_held: bool = False,
    ) -> None:
        """Start a task, which may have ended when this returns.

        The task is carried out for `request`. If `is_held`, an owner releases the request when its
        connection ends.
        """
        self._resume(_RunningTask(generator, then, failed, request, is_held=is_held), None)

    def start_in_role(self, generator: Task[object], then: Then, failed: Failed) -> None:
        """Start a task of the broker's role, as master or as slave."""
        task = _RunningTask(generator, then, failed)
        self._in_role[task] = None
        self._resume(task, None)

    def end_role(self) -> None:
        """Drop the tasks of the role, because it changes."""
        tasks, self._in_role = self._in_role, {}
        for task in tasks:
            task.is_over = True
            task.generator.close()

    # ------------------------------------------------------------------ answers

    def put_answered(self, answer: PutAnswer) -> None:
        """Continue the task that put this."""
        self._resume(self._putting.pop(answer.number), answer)

    def reading_finished(self, finished: Finished) -> None:
        """Continue the task that started this reading, unless it was dropped."""
        task = self._reading.pop(finished.key, None)
        if task is not None:
            self._forget_reader(task)
            self._resume_measured(task, finished.result, finished.error)

    def closed(self, channel: Channel) -> None:
        """Drop the reading tasks of a connection that has ended."""
        for task in list(self._reading_for.get(channel, ())):
            del self._reading[task.number]
            self._store.reader.cancel(task.number)
            self._forget_reader(task)
            task.is_over = True
            task.generator.close()
            assert task.request is not None, "only tasks with a request are kept by connection"
            if not task.is_held:
                self.dropped(task.request)

    def client_answered(self, number: int, response: Command | None) -> None:
        task = self._asking.pop(number, None)
        if task is not None:
            self._resume_measured(task, response)

    def broker_answered(self, number: int, answer: Command | str) -> None:
        """Continue with another broker's response, or with the reason why there is none."""
        task = self._asking.pop(number, None)
        if task is not None:
            self._resume_measured(task, answer)

    def written(self, file: File, failure: str | None) -> None:
        """Continue the tasks that waited for this write of the file."""
        for number in self._files.written(file, failure):
            self._resume_measured(self._saving.pop(number), failure)

    def deadline(self) -> float:
        return self._waiting[0][0] if self._waiting else NEVER

    def expire(self, now: float) -> None:
        """Continue the tasks whose time has come."""
        due = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append(heappop(self._waiting)[2])
        for task in due:
            self._resume_measured(task, None)

    # ------------------------------------------------------------------ inside

    def _resume_measured(
        self, task: _RunningTask, answer: object, error: GantryError | None = None
    ) -> None:
        """Continue a task, and record it if it holds the event loop for too long.

        Answers to puts are not measured: there is one for each message, and the code after them is
        short.
        """
        stalls = self._stalls
        began = stalls.now()
        self._resume(task, answer, error)
        seconds = stalls.now() - began
        if seconds >= STALL_SECONDS:
            request = task.request
            if request is None:
                stalls.note("work of the broker's own", "", seconds)
            else:
                name = request_name(request.command.code)
                stalls.note(name, request.channel.peer, seconds)

    def _resume(self, task: _RunningTask, answer: object, error: GantryError | None = None) -> None:
        """Run the task up to the next step that is not answered at once."""
        if task.is_over:
            return
        while True:
            try:
                step = task.generator.send(answer) if error is None else task.generator.throw(error)
            except StopIteration as stop:
                self._in_role.pop(task, None)
                self._end(task, stop.value)
                return
            except Exception as failure:
                self._in_role.pop(task, None)
                task.failed(failure)
                return
            error = None
            answer = self._begin(task, step)
            if answer is None:
                return

    def _end(self, task: _RunningTask, result: object) -> None:
        try:
            task.then(result)
        except (AssertionError, SyncFailedError):
            raise
        except Exception as failure:
            self._effects.broken("the callback of a task raised an exception", failure)

    def _begin(self, task: _RunningTask, step: Step) -> object:
        """Begin a step; return its answer if there is one at once, else None."""
        self._last_number += 1
        number = self._last_number
        if isinstance(step, Put):
            return self._put(task, step)
        if isinstance(step, Read):
            self._reading[number] = task
            self._read(task, number, step)
        elif isinstance(step, Ask):
            self._asking[number] = task
            self._effects.add(AskClient(number, step.channel, step.command, step.timeout_seconds))
        elif isinstance(step, AskNameServers):
            self._asking[number] = task
            self._effects.add(messages.AskNameServers(number, step.command, step.timeout_seconds))
        elif isinstance(step, AskBroker):
            self._asking[number] = task
            seconds = step.timeout_seconds
            self._effects.add(messages.AskBroker(number, step.address, step.command, seconds))
        elif isinstance(step, Told):
            self._asking[number] = task
            self._effects.add(AwaitRegistration(number))
        elif isinstance(step, Save):
            self._saving[number] = task
            self._files.wait(step.file, number)
        elif isinstance(step, Wait):
            heappush(self._waiting, (step.until, number, task))
        else:
            raise LocalError(f"{step!r} is no step")
        return None

    def _read(self, task: _RunningTask, number: int, step: Read) -> None:
        request = task.request
        if request is None:
            self._store.reader.start(number, step.reading)
            return
        channel = request.channel
        if request.command.code in ONLY_READ:
            task.number = number
            self._reading_for.setdefault(channel, {})[task] = None
        self._store.reader.start(number, step.reading, channel)

    def _forget_reader(self, task: _RunningTask) -> None:
        request = task.request
        tasks = None if request is None else self._reading_for.get(request.channel)
        if request is None or tasks is None:
            return
        tasks.pop(task, None)
        if not tasks:
            del self._reading_for[request.channel]

    def _put(self, task: _RunningTask, step: Put) -> PutAnswer | None:
        if step.session is not None:
            taken = self._store.put_session(
                step.messages, step.session, is_batch=step.is_batch, waits=step.waits
            )
        elif step.is_batch:
            taken = self._store.put_batch(step.messages, waits=step.waits)
        else:
            taken = self._store.put(
                step.messages[0], waits=step.waits, was_accepted=step.was_accepted
            )
        if isinstance(taken, Refused):
            return PutAnswer(0, taken.status, remark=taken.text)
        self.has_new_puts = True
        self._putting[taken] = task
        return None
