"""Pop and acknowledge: what was acknowledged stays away, what was not comes back.

After a kill a message may come again where the two files that it left do not say that it is done
with: at or behind the group's offset, or out in popCheckouts.json. Java's broker goes by the same
offset, which it writes as seldom.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, final

from gantrymq.crash.link import Found, Link, messages, stored
from gantrymq.crash.roles.role import offset_in, table_of

TOPIC: Final = "Popped"
GROUP: Final = "Poppers"
RETRY: Final = f"%RETRY%{GROUP}_{TOPIC}"
INVISIBLE_MS: Final = 2500
IN_TIME_SECONDS: Final = 1.5  # later, an acknowledgement may cross the return of its message
SENT_AT_ONCE: Final = 8
LEFT_OUT: Final = 5  # one of so many is not acknowledged when it comes first

_POP, _ACK = 200050, 200051
_NOTHING: Final = frozenset({209, 210})  # polling full, polling timeout

Place: TypeAlias = tuple[str, int]
"""Topic and offset; all lie in queue 0."""


@final
@dataclass(slots=True)
class _Popped:
    """What is known of one message. `spare`: how often kills may have brought it once more, once
    for each place of it that no file said was done with."""

    came: int = 0
    places: set[Place] = field(default_factory=set)
    is_acknowledged: bool = False
    after_acknowledged: int = 0
    spare: int = 0


@final
class Popping:
    """Sends to a topic, pops from it and acknowledges."""

    def __init__(self) -> None:
        self.name = "pops"
        self.faults: list[str] = []
        self.figures: Counter[str] = Counter()
        self._numbers = itertools.count()
        self._sent: set[str] = set()
        self._popped: dict[str, _Popped] = {}

    def prepare(self, link: Link) -> None:
        link.create_topic(TOPIC)

    def play(self, link: Link) -> None:
        while True:
            bodies = [f"pop/{next(self._numbers)}" for _ in range(SENT_AT_ONCE)]
            for body in bodies:
                link.begin_send(TOPIC, body)
            for body in bodies:
                if stored(link.answer()) is None:
                    self.faults.append(f"{self.name}: {body} was refused")
                else:
                    self._sent.add(body)
            self._pop(link, is_last=False)

    def _pop(self, link: Link, *, is_last: bool) -> None:
        began = time.monotonic()
        answer = link.ask(_POP, _pop_fields())
        if answer.code in _NOTHING:
            return
        assert answer.code == 0, answer
        ext = answer.ext or {}
        for each in messages(answer.body):
            is_first = self._note(each)
            if is_last or not is_first or int(each.body.partition("/")[2]) % LEFT_OUT:
                self._acknowledge(link, each, ext, began)
            else:
                self.figures["pops not acknowledged"] += 1

    def _note(self, each: Found) -> bool:
        """Whether it comes for the first time."""
        popped = self._popped.setdefault(each.body, _Popped())
        popped.came += 1
        popped.places.add(_place(each))
        if popped.is_acknowledged:
            popped.after_acknowledged += 1
            self.figures["pops again after an acknowledgement"] += 1
            if popped.after_acknowledged > popped.spare:
                self.faults.append(
                    f"{self.name}: {each.body} was acknowledged, and comes: {popped}"
                )
        return popped.came == 1

    def _acknowledge(self, link: Link, each: Found, ext: Mapping[str, str], began: float) -> None:
        topic, offset = _place(each)
        ack = {"consumerGroup": GROUP, "topic": topic, "queueId": 0, "offset": offset}
        answer = link.ask(_ACK, {**ack, "extraInfo": _handle(each, ext)})
        assert answer.code == 0, answer
        if time.monotonic() - began < IN_TIME_SECONDS:
            self._popped[each.body].is_acknowledged = True
            self.figures["pops acknowledged"] += 1

    def killed(self, config: Path) -> None:
        starts = {topic: offset_in(config, topic, GROUP, 0) or 0 for topic in (TOPIC, RETRY)}
        out = {topic: _out(config, topic) for topic in (TOPIC, RETRY)}
        for popped in self._popped.values():
            popped.spare += sum(
                offset >= starts[topic] or offset in out[topic] for topic, offset in popped.places
            )

    def revived(self, link: Link) -> None:
        """What comes again comes in its time."""

    def settle(self, link: Link) -> bool:
        self._pop(link, is_last=True)
        return all(self._is_done(body) for body in self._sent)

    def _is_done(self, body: str) -> bool:
        return body in self._popped and self._popped[body].is_acknowledged

    def judge(self, link: Link) -> None:
        missing = [body for body in self._sent if not self._is_done(body)]
        if missing:
            self.faults.append(f"{self.name}: {len(missing)} did not come (back): {missing[:3]}")


def _place(each: Found) -> Place:
    """Where it really lies; a message that comes again says so in its handle."""
    handle = each.properties.get("POP_CK")
    is_again = handle is not None and handle.split(" ")[4] == "1"
    return (RETRY if is_again else TOPIC), each.offset


def _handle(each: Found, ext: Mapping[str, str]) -> str:
    handle = each.properties.get("POP_CK")
    if handle is not None:
        return handle
    starts = (entry.split(" ") for entry in ext["startOffsetInfo"].split(";"))
    (start,) = (start for kind, _, start in starts if kind == "0")
    times = f"{ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']}"
    return f"{start} {times} 0 broker-gantry 0 {each.offset}"


def _out(config: Path, topic: str) -> set[int]:
    """The offsets that popCheckouts.json says are out."""
    queues = table_of(config, "popCheckouts.json", "checkouts").get(f"{topic}@{GROUP}") or {}
    assert isinstance(queues, dict)
    return {int(offset) for offsets in (queues.get("0") or {}).values() for offset in offsets}


def _pop_fields() -> dict[str, object]:
    return {
        "consumerGroup": GROUP,
        "topic": TOPIC,
        "queueId": 0,
        "maxMsgNums": 16,
        "invisibleTime": INVISIBLE_MS,
        "pollTime": 50,
        "bornTime": int(time.time() * 1000),
        "initMode": 0,
    }
