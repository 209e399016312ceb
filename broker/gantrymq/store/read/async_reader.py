"""Runs read tasks, which never block the event loop: they yield the bytes that they need.

A `ReadTask` goes as far as it can with what is in memory. It yields

    a Wanted   for bytes that are not in memory. The bytes are sent to it, fewer at the end of the
               file, or the DiskError is thrown in
    None       after a piece of work, so that other tasks do not wait behind it
    FilterRest when the filters' share of this turn is used up (work_meter.py)

and returns its result. `AsyncReader` runs any number of them. The disk reads what a `Wanted` names
only when its turn has come, first in, first out, so that few disk reads are under way however many
tasks there are. By then the file may be gone, which is a DiskError NOT_FOUND.

Tasks that pause because of their filters are resumed round-robin by owner, which is the client's
connection, so that a connection with many of them gets no larger share.

Invariants. Every task that was started ends once, in `take_finished`, unless it is cancelled. A
DiskError or CorruptionError that it raises is its result; any other exception is a defect and
propagates. Tasks tolerate appends and the removal of the oldest files in between. They do not
tolerate a truncation of the log or of a queue: the code that truncates cancels them first.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, final

from gantrymq.base.disk import Background, Completion, DiskError, File
from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.base.tasks import Task
from gantrymq.store.read.read_result import Finished
from gantrymq.store.read.work_meter import WorkMeter

# Enough to keep a fast disk busy. More would only queue inside the disk, in front of the flushes.
UNDER_WAY_MAX: Final = 32

# A piece of work takes a few milliseconds at most; a turn of the loop should not do many.
RESUMED_A_TURN: Final = 4

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """Bytes of a file. The file is looked up when the disk is asked, because handles come and
    go."""

    file: Callable[[], File]
    position: int
    size: int


@final
class FilterRest:
    """Yielded when the filters' share of this turn is used up; see FILTER_REST."""

    __slots__ = ()


FILTER_REST: Final = FilterRest()

ReadTask: TypeAlias = Task[Wanted | FilterRest | None, bytes | None, T]


def fetch(wanted: Wanted) -> ReadTask[bytes]:
    """Read these bytes, inside another task."""
    data = yield wanted
    assert data is not None, "the runner of a ReadTask sends the wanted bytes"
    return data


def run(task: ReadTask[T]) -> T:
    """Run a whole task at once, waiting for the disk: for tools and for the start."""
    data: bytes | None = None
    error: DiskError | None = None
    try:
        while True:
            wanted = task.send(data) if error is None else task.throw(error)
            data = error = None
            try:
                if isinstance(wanted, Wanted):
                    data = wanted.file().read(wanted.position, wanted.size)
            except DiskError as failure:
                error = failure
    except StopIteration as stop:
        result: T = stop.value
        return result


@final
class _RunningTask:
    """A task that has not ended."""

    __slots__ = ("is_cancelled", "key", "owner", "task")

    def __init__(self, key: int, task: ReadTask[object], owner: object) -> None:
        self.key: int = key
        self.owner: object = owner
        self.task: ReadTask[object] = task
        self.is_cancelled: bool = False


@final
class AsyncReader:
    """Runs the read tasks of one store. The owner passes completions in, and calls `turn` once a
    turn of the event loop."""

    __slots__ = (
        "_asked",
        "_background",
        "_filtering",
        "_finished",
        "_meter",
        "_resting",
        "_runs",
        "_under_way_max",
        "_waiting",
    )

    def __init__(
        self,
        background: Background,
        under_way_max: int = UNDER_WAY_MAX,
        meter: WorkMeter | None = None,
    ) -> None:
        self._background = background
        self._filtering: OrderedDict[object, deque[_RunningTask]] = OrderedDict()
        """Tasks that pause because of their filters, by owner; the first owner is next."""
        self._meter: WorkMeter = meter or WorkMeter()
        self._under_way_max = under_way_max
        self._runs: dict[int, _RunningTask] = {}
        self._waiting: deque[tuple[_RunningTask, Wanted]] = deque()
        self._asked: dict[int, _RunningTask] = {}
        self._resting: deque[_RunningTask] = deque()
        self._finished: list[Finished] = []

    def __len__(self) -> int:
        """The number of tasks that have not ended."""
        return len(self._runs)

    @property
    def is_due(self) -> bool:
        """Whether `turn` has work now."""
        return bool(self._resting or self._finished or self._filtering)

    def start(self, key: int, task: ReadTask[object], owner: object = None) -> None:
        """Start a task; it may have ended when this returns."""
        if key in self._runs:
            raise LocalError(f"a read with key {key} is running already")
        self._runs[key] = one = _RunningTask(key, task, owner)
        self._go_on(one)
        self._ask()

    def take(self, completion: Completion) -> bool:
        """Whether the completion was for a task, which is then resumed."""
        one = self._asked.pop(completion.ticket, None)
        if one is None:
            return False
        self._go_on(one, completion.data, completion.error)
        self._ask()
        return True

    def turn(self) -> None:
        """Resume some of the paused tasks."""
        for _ in range(min(RESUMED_A_TURN, len(self._resting))):
            self._go_on(self._resting.popleft())
        if self._filtering:
            self._filter_on()
        self._ask()

    def take_finished(self) -> Sequence[Finished]:
        """The tasks that ended since the last call, in the order they ended."""
        finished, self._finished = self._finished, []
        return finished

    def cancel(self, key: int) -> None:
        """Drop this task. A disk read that is under way for it continues."""
        one = self._runs.pop(key, None)
        if one is not None:
            one.is_cancelled = True
            one.task.close()

    def cancel_all(self) -> None:
        for key in list(self._runs):
            self.cancel(key)

    def _filter_on(self) -> None:
        """Resume tasks that pause because of their filters, one of each owner at a time."""
        filtering = self._filtering
        for _ in range(sum(map(len, filtering.values()))):
            if self._meter.left <= 0:
                break
            owner, runs = filtering.popitem(last=False)
            one = runs.popleft()
            if runs:
                filtering[owner] = runs
            self._go_on(one)

    def _go_on(
        self, one: _RunningTask, data: bytes | None = None, error: DiskError | None = None
    ) -> None:
        """Resume the task until it needs something, pauses or ends."""
        if one.is_cancelled:
            return
        try:
            wanted = one.task.send(data) if error is None else one.task.throw(error)
        except StopIteration as stop:
            self._end(Finished(one.key, stop.value))
        except (DiskError, CorruptionError) as failure:
            self._end(Finished(one.key, error=failure))
        else:
            if wanted is None:
                self._resting.append(one)
            elif isinstance(wanted, FilterRest):
                self._filtering.setdefault(one.owner, deque()).append(one)
            else:
                self._waiting.append((one, wanted))

    def _end(self, finished: Finished) -> None:
        del self._runs[finished.key]
        self._finished.append(finished)

    def _ask(self) -> None:
        """Start disk reads for waiting tasks, up to the bound."""
        while self._waiting and len(self._asked) < self._under_way_max:
            one, wanted = self._waiting.popleft()
            if one.is_cancelled:
                continue
            try:
                ticket = self._background.read(wanted.file(), wanted.position, wanted.size)
            except DiskError as error:
                self._go_on(one, error=error)
            else:
                self._asked[ticket] = one
