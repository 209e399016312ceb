"""Transactions: committed ones come, rolled back ones never do, undecided ones are asked after.

What becomes of a half is known from its number: committed, rolled back, or committed only when the
broker asks.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Final, final

from gantrymq.crash.link import Found, Link, Stored, messages
from gantrymq.interop.wire import Answer

TOPIC: Final = "Decided"
GROUP: Final = "Producers"
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
CHECK_GROUP: Final = "CID_RMQ_SYS_TRANS"
SHOWN: Final = 3

_OFFSET, _HEARTBEAT, _END, _CHECK = 14, 34, 37, 39


class Fate(Enum):
    """What END_TRANSACTION says, and None for nothing until the broker asks."""

    COMMIT = 8
    ROLL_BACK = 12
    SILENT = 0


_FATES: Final = (Fate.COMMIT, Fate.COMMIT, Fate.ROLL_BACK, Fate.SILENT)


@final
class Deciding:
    """A transactional producer."""

    def __init__(self) -> None:
        self.name = "transactions"
        self.faults: list[str] = []
        self.figures: Counter[str] = Counter()
        self._numbers = itertools.count()
        self._halves: set[int] = set()
        self._decided: set[int] = set()
        """Whose decision the broker acknowledged."""
        self._tries: Counter[int] = Counter()

    def prepare(self, link: Link) -> None:
        link.create_topic(TOPIC)

    def play(self, link: Link) -> None:
        self._show(link)
        while True:
            number = next(self._numbers)
            half = link.send(TOPIC, f"tx/{number}", {"TRAN_MSG": "true", "PGROUP": GROUP})
            if half is None:
                self.faults.append(f"{self.name}: {number} was refused")
                continue
            self._halves.add(number)
            self.figures["halves acknowledged"] += 1
            if _fate(number) is not Fate.SILENT:
                self._end(link, number, half)
            self._answer_checks(link)

    def _show(self, link: Link) -> None:
        """Tell the broker that this connection can be asked."""
        body = {
            "clientID": "crash@1",
            "consumerDataSet": [],
            "producerDataSet": [{"groupName": GROUP}],
        }
        link.must(_HEARTBEAT, {}, json.dumps(body).encode())

    def _end(self, link: Link, number: int, half: Stored, *, is_asked: bool = False) -> None:
        fate = Fate.COMMIT if _fate(number) is Fate.SILENT else _fate(number)
        self._tries[number] += number not in self._decided
        answer = link.ask(
            _END,
            {
                "producerGroup": GROUP,
                "tranStateTableOffset": half.offset,
                "commitLogOffset": half.position,
                "commitOrRollback": fate.value,
                "fromTransactionCheck": "true" if is_asked else "false",
                "msgId": "",
            },
        )
        if answer.code == 0:
            self._decided.add(number)
            self.figures["decisions acknowledged"] += 1
            # What the broker asked before it answered, it may have asked.
            late = [each for each in link.asked if _asked_number(each) == number]
            for each in late:
                link.asked.remove(each)

    def _answer_checks(self, link: Link) -> None:
        while link.asked:
            question = link.asked.popleft()
            self._checked(link, question)

    def _checked(self, link: Link, question: Answer) -> None:
        number = _asked_number(question)
        self.figures["checks"] += 1
        ext = question.ext or {}
        place = Stored(0, int(ext["tranStateTableOffset"]), int(ext["commitLogOffset"]))
        if number in self._decided:
            self.faults.append(f"{self.name}: {number} is decided, and was asked after")
        self._end(link, number, place, is_asked=True)

    def killed(self, config: Path) -> None:
        """The half queue says all there is to say."""

    def revived(self, link: Link) -> None:
        """What is open is asked after in its time."""

    def settle(self, link: Link) -> bool:
        """Nothing is open, as far as the check has come."""
        self._show(link)
        self._answer_checks(link)
        ext = {"consumerGroup": CHECK_GROUP, "topic": HALF_TOPIC, "queueId": 0}
        answer = link.ask(_OFFSET, ext)
        self._answer_checks(link)
        return answer.code == 0 and int((answer.ext or {})["offset"]) == link.end(HALF_TOPIC)

    def judge(self, link: Link) -> None:
        came = Counter(_number(each) for each in link.queue(TOPIC))
        wanted = {number for number in self._halves if _fate(number) is not Fate.ROLL_BACK}
        if missing := sorted(wanted - came.keys()):
            self.faults.append(f"{self.name}: {len(missing)} never came: {missing[:SHOWN]}")
        for number, count in came.items():
            if _fate(number) is Fate.ROLL_BACK:
                self.faults.append(f"{self.name}: {number} was rolled back, and came")
            self.figures["repeats of transactions"] += count - 1
            if count > max(1, self._tries[number]):
                self.faults.append(
                    f"{self.name}: {number} came {count} times of {self._tries[number]} commits"
                )


def _fate(number: int) -> Fate:
    return _FATES[number % len(_FATES)]


def _asked_number(question: Answer) -> int:
    assert question.code == _CHECK, question
    (half,) = messages(question.body)
    return _number(half)


def _number(message: Found) -> int:
    return int(message.body.partition("/")[2])
