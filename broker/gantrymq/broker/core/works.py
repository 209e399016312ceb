"""The works under way: runs generators of steps against the store, the clients and the files.

Invariants. `then` of each work that was started is called once, with its result, or `failed` with
what it raised; those that wait when the broker stops are given up, and so are those of a role when
that ends (`hold`): nobody hears of them any more. Works that only read are given up when the
connection of their client ends (`closed`); then `dropped` is called with their request. A work
goes on in the turn in
which its step was answered, in the order of the answers. What a `then` raises ends neither the turn
nor the works behind it: one message that nobody thought of must not end the broker, now and after
each start. It is told as a defect. A broken invariant and a failed sync do end the process.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, TypeAlias, final

from gantrymq.base.errors import GantryError, LocalError
from gantrymq.base.stalls import STALL_SECONDS, StallWatch
from gantrymq.broker.core import messages
from gantrymq.broker.core.files import Files
from gantrymq.broker.core.messages import (
    AskClient,
    AwaitRegistration,
    Channel,
    Effects,
    File,
    Request,
)
from gantrymq.broker.core.steps import (
    Ask,
    AskBroker,
    AskNameServers,
    Put,
    Read,
    Save,
    Step,
    Steps,
    Told,
    Wait,
)
from gantrymq.store.engine import Store
from gantrymq.store.finished import Finished
from gantrymq.store.pending_put import PutAnswer
from gantrymq.store.put import Refused
from gantrymq.store.segments import SyncFailedError
from gantrymq.wire.codes import RequestCode, request_name
from gantrymq.wire.command import Command

Then: TypeAlias = Callable[[object], None]
Failed: TypeAlias = Callable[[Exception], None]

NEVER: Final = float("inf")

# Requests that change nothing, or nothing that a client has to hear of: what is popped and not
# answered is given out again. All others are carried out to their end: a commit is oneway, and its
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
    """For works that no broker owns, in tests."""


@final
class _Work:
    """One that has not ended."""

    __slots__ = ("failed", "is_held", "is_over", "number", "request", "steps", "then")

    def __init__(
        self,
        steps: Steps[object],
        then: Then,
        failed: Failed,
        request: Request | None = None,
        *,
        is_held: bool = False,
    ) -> None:
        self.is_held: bool = is_held
        self.is_over: bool = False
        self.number: int = 0
        """Of the step that it waits for."""
        self.request: Request | None = request
        self.steps: Steps[object] = steps
        self.then: Then = then
        self.failed: Failed = failed


@final
class Works:
    """Of one broker. The owner hands it every answer of the store, the clients and the files."""

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
        self._in_role: dict[_Work, None] = {}
        self._last_number = 0
        self._putting: dict[int, _Work] = {}
        self._reading: dict[int, _Work] = {}
        self._reading_for: dict[Channel, dict[_Work, None]] = {}
        """Works that may be given up with the connection, while they read."""
        self.dropped: Callable[[Request], None] = _release_nothing
        self._asking: dict[int, _Work] = {}
        self._saving: dict[int, _Work] = {}
        self._waiting: list[tuple[float, int, _Work]] = []
        self.has_new_puts = False
        """Whether something was put since the owner last said that nothing was."""

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
        steps: Steps[object],
        then: Then,
        failed: Failed,
        request: Request | None = None,
        *,
        is_held: bool = False,
    ) -> None:
        """Begin; the work may have ended when this returns. It is carried out for `request`; one
        that `is_held` has an owner that releases it when its connection ends."""
        self._go_on(_Work(steps, then, failed, request, is_held=is_held), None)

    def start_in_role(self, steps: Steps[object], then: Then, failed: Failed) -> None:
        """The same for what this broker does by itself as master, or as slave."""
        work = _Work(steps, then, failed)
        self._in_role[work] = None
        self._go_on(work, None)

    def end_role(self) -> None:
        """The broker's role changes: what belongs to it goes no further."""
        works, self._in_role = self._in_role, {}
        for work in works:
            work.is_over = True
            work.steps.close()

    # ------------------------------------------------------------------ answers

    def put_answered(self, answer: PutAnswer) -> None:
        """The work that put this goes on."""
        self._go_on(self._putting.pop(answer.number), answer)

    def reading_finished(self, finished: Finished) -> None:
        """The work that wanted to read this goes on, unless it was given up meanwhile."""
        work = self._reading.pop(finished.key, None)
        if work is not None:
            self._forget_reader(work)
            self._go_on_measured(work, finished.result, finished.error)

    def closed(self, channel: Channel) -> None:
        """The connection has ended: no client waits for what its works read."""
        for work in list(self._reading_for.get(channel, ())):
            del self._reading[work.number]
            self._store.readings.cancel(work.number)
            self._forget_reader(work)
            work.is_over = True
            work.steps.close()
            assert work.request is not None, "works without a request are not kept by connection"
            if not work.is_held:
                self.dropped(work.request)

    def client_answered(self, number: int, response: Command | None) -> None:
        work = self._asking.pop(number, None)
        if work is not None:
            self._go_on_measured(work, response)

    def broker_answered(self, number: int, answer: Command | str) -> None:
        """The response of another broker, or why there is none."""
        work = self._asking.pop(number, None)
        if work is not None:
            self._go_on_measured(work, answer)

    def written(self, file: File, failure: str | None) -> None:
        """A write of the file ended: those that waited for it go on."""
        for number in self._files.written(file, failure):
            self._go_on_measured(self._saving.pop(number), failure)

    def deadline(self) -> float:
        return self._waiting[0][0] if self._waiting else NEVER

    def expire(self, now: float) -> None:
        """Those whose moment has come go on."""
        due = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append(heappop(self._waiting)[2])
        for work in due:
            self._go_on_measured(work, None)

    # ------------------------------------------------------------------ inside

    def _go_on_measured(
        self, work: _Work, answer: object, error: GantryError | None = None
    ) -> None:
        """The same, and count it where it holds the loop for too long. Answers to puts are left
        out: there is one for each message, and what follows them is short."""
        stalls = self._stalls
        began = stalls.now()
        self._go_on(work, answer, error)
        seconds = stalls.now() - began
        if seconds >= STALL_SECONDS:
            request = work.request
            if request is None:
                stalls.note("work of the broker's own", "", seconds)
            else:
                name = request_name(request.command.code)
                stalls.note(name, request.channel.peer, seconds)

    def _go_on(self, work: _Work, answer: object, error: GantryError | None = None) -> None:
        """Up to the next step that is not answered at once."""
        if work.is_over:
            return
        while True:
            try:
                step = work.steps.send(answer) if error is None else work.steps.throw(error)
            except StopIteration as stop:
                self._in_role.pop(work, None)
                self._end(work, stop.value)
                return
            except Exception as failure:
                self._in_role.pop(work, None)
                work.failed(failure)
                return
            error = None
            answer = self._begin(work, step)
            if answer is None:
                return

    def _end(self, work: _Work, result: object) -> None:
        try:
            work.then(result)
        except (AssertionError, SyncFailedError):
            raise
        except Exception as failure:
            self._effects.broken("a defect ended what follows a work", failure)

    def _begin(self, work: _Work, step: Step) -> object:
        """The answer, when the step has one at once; None when the work has to wait."""
        self._last_number += 1
        number = self._last_number
        if isinstance(step, Put):
            return self._put(work, step)
        if isinstance(step, Read):
            self._reading[number] = work
            self._read(work, number, step)
        elif isinstance(step, Ask):
            self._asking[number] = work
            self._effects.add(AskClient(number, step.channel, step.command, step.timeout_seconds))
        elif isinstance(step, AskNameServers):
            self._asking[number] = work
            self._effects.add(messages.AskNameServers(number, step.command, step.timeout_seconds))
        elif isinstance(step, AskBroker):
            self._asking[number] = work
            seconds = step.timeout_seconds
            self._effects.add(messages.AskBroker(number, step.address, step.command, seconds))
        elif isinstance(step, Told):
            self._asking[number] = work
            self._effects.add(AwaitRegistration(number))
        elif isinstance(step, Save):
            self._saving[number] = work
            self._files.wait(step.file, number)
        elif isinstance(step, Wait):
            heappush(self._waiting, (step.until, number, work))
        else:
            raise LocalError(f"{step!r} is no step")
        return None

    def _read(self, work: _Work, number: int, step: Read) -> None:
        request = work.request
        if request is None:
            self._store.readings.start(number, step.reading)
            return
        channel = request.channel
        if request.command.code in ONLY_READ:
            work.number = number
            self._reading_for.setdefault(channel, {})[work] = None
        self._store.readings.start(number, step.reading, channel)

    def _forget_reader(self, work: _Work) -> None:
        request = work.request
        works = None if request is None else self._reading_for.get(request.channel)
        if request is None or works is None:
            return
        works.pop(work, None)
        if not works:
            del self._reading_for[request.channel]

    def _put(self, work: _Work, step: Put) -> PutAnswer | None:
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
        self._putting[taken] = work
        return None
