"""Answers sends that wait for the disk, for a follower, or for both.

flush.py reports what is on disk. `replicated` reports the log position up to which the log is
replicated: with fixed roles one slave has it, in an elected group all members of the in-sync set
have it. If there is no member to wait for, `missing` says why, and new sends are
answered SLAVE_NOT_AVAILABLE with that text. Sends that already wait continue to, because a member
may come back in time, unless `miss` says that there is none for them either. A send that waits
longer than slaveTimeout is answered FLUSH_SLAVE_TIMEOUT. If both the disk and the members fail, the
send is answered with the members' failure, as Java does.

The sends of one group wait together. Invariants. A send is answered once, when everything it waited
for is known. The replicated position never goes down: a member that had the log up to there had it,
and what is written later lies behind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.append.pending_sends import told_anew
from gantrymq.store.append.write_batcher import Pending
from gantrymq.store.commitlog.flush import Released
from gantrymq.store.record.put_status import UNAVAILABLE, PutStatus
from gantrymq.store.settings import StoreSettings

_OK: Final = PutStatus.PUT_OK

FENCED: Final = (
    f"{UNAVAILABLE}Not stored: this broker is not the master any more; send to the new master."
)
DISMISSED: Final = (
    "The message is in this broker's log, but the broker is not the master any more, and the new "
    "one may not have it; send it again where it must not be lost."
)


@final
class _Waiting:
    """The puts of one group: how many conditions they still wait for, the answer so far, and the
    position that another member must reach, with the deadline for that."""

    __slots__ = ("deadline", "end", "left", "puts", "remark", "status")

    def __init__(self, puts: Sequence[Pending], left: int, end: int, deadline: float) -> None:
        self.deadline: float = deadline
        self.end: int = end
        self.left: int = left
        self.puts: Sequence[Pending] = puts
        self.remark: str = ""
        self.status: PutStatus = _OK


@final
class Waiters:
    """The waiting sends of one store, which returns the answers with its next turn."""

    __slots__ = (
        "_answers",
        "_copies",
        "_replicated",
        "_timeout",
        "_waiting",
        "for_members",
        "missing",
    )

    def __init__(self, settings: StoreSettings) -> None:
        self._answers: list[PutAnswer] = []
        self._copies: deque[int] = deque()
        """The numbers of the groups that wait for another member."""
        self._replicated: int = 0
        self._timeout: float = settings.slave_timeout / 1000
        self._waiting: dict[int, _Waiting] = {}
        self.for_members: bool = False
        """Whether sends wait for another member at all."""
        self.missing: str | None = None
        """Why there is no other member to wait for; None if there is one."""

    def answer(self, pending: Pending, status: PutStatus, remark: str = "") -> None:
        """Answer a send: everything it waited for is known."""
        self._answers.append(pending.answer(status, remark))

    def wait(self, puts: Sequence[Pending], end: int, now: float, *, for_disk: bool) -> int:
        """Let a group wait that was written up to `end`. Return its number, under which `flushed`
        reports its sync."""
        number = puts[-1].number
        left = int(for_disk) + int(self.for_members)
        self._waiting[number] = _Waiting(puts, left, end, now + self._timeout)
        if self.for_members:
            if self.missing is not None:
                self._settle(number, PutStatus.SLAVE_NOT_AVAILABLE, self.missing)
            elif end <= self._replicated:
                self._settle(number, _OK)
            else:
                self._copies.append(number)
        return number

    @property
    def has_answers(self) -> bool:
        """Whether there are answers to take."""
        return bool(self._answers)

    @property
    def is_empty(self) -> bool:
        """Whether no send waits."""
        return not self._waiting

    def flushed(self, released: Released) -> None:
        """Note that a group is on disk, or that its time for that is over."""
        waiting = self._waiting.get(released.waiter)
        if waiting is None:
            return  # dismissed since
        if not released.in_time and waiting.status is _OK:
            waiting.status = PutStatus.FLUSH_DISK_TIMEOUT
        self._one_less(released.waiter, waiting)

    def replicated(self, position: int) -> None:
        """Note that the log is replicated up to this position."""
        if position <= self._replicated:
            return
        self._replicated = position
        copies = self._copies
        while copies and self._waiting[copies[0]].end <= position:
            self._settle(copies.popleft(), _OK)

    def miss(self, why: str) -> None:
        """Stop waiting for other members, also for the sends that wait already."""
        self.missing = why
        copies = self._copies
        while copies:
            self._settle(copies.popleft(), PutStatus.SLAVE_NOT_AVAILABLE, why)

    def turn(self, now: float) -> None:
        """Answer the sends that have waited for another member too long."""
        copies = self._copies
        while copies and self._waiting[copies[0]].deadline <= now:
            late = copies.popleft()
            remark = (
                f"The message is stored, but no slave had it after slaveTimeout="
                f"{self._timeout * 1000:.0f} ms: a slave has the log up to {self._replicated}, "
                f"the message ends at {self._waiting[late].end} or before; see mqadmin haStatus."
            )
            self._settle(late, PutStatus.FLUSH_SLAVE_TIMEOUT, remark)

    def deadline(self) -> float:
        """The time at which `turn` has work; `-NEVER` if there are answers to take."""
        if self._answers:
            return -NEVER
        return self._waiting[self._copies[0]].deadline if self._copies else NEVER

    def take_answers(self) -> Sequence[PutAnswer]:
        """The answers since the last call."""
        answers, self._answers = self._answers, []
        return answers

    def give_up(self) -> None:
        """Answer all waiting sends, since the store stops. Everything is on disk; sends that wait
        for another member are not answered with success."""
        for group in self._copies:
            waiting = self._waiting[group]
            waiting.status = PutStatus.FLUSH_SLAVE_TIMEOUT
            waiting.remark = "The message is stored, but the broker stopped before a slave had it."
        self._copies.clear()
        for number, waiting in list(self._waiting.items()):
            waiting.left = 1
            self._one_less(number, waiting)

    def dismiss(self, unwritten: Sequence[Pending] = ()) -> None:
        """Answer all waiting sends without success: this broker is not the master any more, and the
        new one may not have their messages. `unwritten` sends are refused. The owner must set again
        whether sends wait for members."""
        for told in self._answers:
            if told.status is _OK:  # stored, but this broker may not say so any more
                told.status, told.remark = PutStatus.FLUSH_SLAVE_TIMEOUT, DISMISSED
                told.replies = told_anew(told.replies, told.status, DISMISSED)
        self._copies.clear()
        waiting, self._waiting = self._waiting, {}
        for group in waiting.values():
            for put in group.puts:
                self.answer(put, PutStatus.FLUSH_SLAVE_TIMEOUT, DISMISSED)
        for put in unwritten:
            self.answer(put, PutStatus.SERVICE_NOT_AVAILABLE, FENCED)
        self._replicated = 0
        self.for_members = False
        self.missing = None

    def _settle(self, number: int, status: PutStatus, remark: str = "") -> None:
        """Note the result of waiting for another member."""
        waiting = self._waiting[number]
        if status is not _OK:
            waiting.status, waiting.remark = status, remark
        self._one_less(number, waiting)

    def _one_less(self, number: int, waiting: _Waiting) -> None:
        waiting.left -= 1
        if not waiting.left:
            del self._waiting[number]
            for put in waiting.puts:
                self.answer(put, waiting.status, waiting.remark)
