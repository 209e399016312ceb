"""What was promised, and what is found: the oracle of the crash tests.

    firm     must be found after a power cut: answered PUT_OK to a client that waited for the disk,
             or below what the store called flushed, or shown to consumers by a recovery
    loose    must be found after a kill, for the system still has it

What is found beyond that must have been sent, once, in the order it was sent; the log has no byte
that is not a message of a queue, or the rest of a file; a message stays where it was said to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias, final

from gantrymq.crash.report import Line
from gantrymq.crash.sendings import QUEUES, life_of, messages_of, queue_of, waits
from gantrymq.crash.writer import LOG_FILE_BYTES
from gantrymq.store.layout import COMMIT_LOG, file_name
from gantrymq.store.settings import FlushDiskType
from gantrymq.wire.message.record_scan import BLANK_BYTES

Part: TypeAlias = tuple[int, int]
"""A put, and which of its messages."""
Place: TypeAlias = tuple[int, int]
"""Offset in the queue, position in the log."""

SHOWN_MAX: Final = 8


@final
class Ledger:
    """What one folder must contain, over all starts of its writer."""

    def __init__(self, flush: FlushDiskType) -> None:
        self._is_sync = flush is FlushDiskType.SYNC_FLUSH
        self._firm: dict[Part, Place] = {}
        self._loose: dict[Part, Place] = {}
        self._due: set[Part] = set()
        self._lives = 0
        self._end = 0
        self._starts: list[int] = [0] * len(QUEUES)
        self.faults: list[str] = []
        self.figures: Counter[str] = Counter()

    def add_life(self, lines: list[Line], *, is_all: bool = False) -> None:
        """Record a report of the writer; `is_all`: the report lists everything that it held."""
        self._lives += 1
        held = [line.numbers for line in lines if line.kind == "held"]
        self.faults += [line.text for line in lines if line.kind == "fault"]
        serving = [line.numbers for line in lines if line.kind == "serving"]
        if serving:
            end, rewritten, rebuilt, *_ = serving[0]
            self.figures["recoveries that rewrote"] += rewritten > 0
            self.figures["queues rebuilt"] += rebuilt
            self.faults += list(self._compared(held, end, is_all=is_all))[:SHOWN_MAX]
            self._hold(held, end)
        self._promise(lines)

    def cut(self) -> None:
        """The power went: what was not on disk need not be there any more."""
        for part in self._loose:
            self._due.discard(part)
        self._loose.clear()

    def known(self, *, is_all: bool = False) -> tuple[int, ...]:
        """Where the next stock-taking begins, in each queue."""
        return (0,) * len(QUEUES) if is_all else tuple(self._starts)

    @staticmethod
    def log_file(lines: list[Line]) -> str:
        """The file of the log that was written last."""
        position = max(line.numbers[-1] for line in lines if line.kind == "ok")
        return f"{COMMIT_LOG}/{file_name(position - position % LOG_FILE_BYTES)}"

    def _promise(self, lines: list[Line]) -> None:
        flushed = max((line.numbers[0] for line in lines if line.kind == "flushed"), default=0)
        for line in lines:
            if line.kind != "ok":
                self.figures["refused"] += line.kind == "refused"
                continue
            put, offset, *positions = line.numbers
            is_firm = (self._is_sync and waits(put)) or positions[-1] < flushed
            promises = self._firm if is_firm else self._loose
            for part, position in enumerate(positions):
                promises[put, part] = offset + part, position
                self._due.add((put, part))
            if len(positions) != len(messages_of(put)):
                self.faults.append(f"put {put} was answered with {len(positions)} positions")
            self.figures["messages promised"] += len(positions)

    def _compared(self, held: list[list[int]], end: int, *, is_all: bool) -> Iterator[str]:
        """What is wrong with what is held."""
        found: dict[Part, Place] = {}
        promised = self._firm | self._loose
        position = 0 if is_all else self._end
        newest: dict[int, Part] = {}
        for put, part, offset, start, size in sorted(held, key=lambda numbers: numbers[3]):
            if (put, part) in found or not 1 <= life_of(put) < self._lives:
                yield f"put {put}/{part} at {start} is there twice, or was not sent yet"
            if newest.get(life_of(put), (0, 0)) >= (put, part):
                yield f"put {put}/{part} at {start} comes behind {newest[life_of(put)]}"
            newest[life_of(put)] = put, part
            if promised.get((put, part), (offset, start)) != (offset, start):
                yield f"put {put}/{part} was at {promised[put, part]}, is at {(offset, start)}"
            if start != position and not _is_rest(position, start):
                yield f"between {position} and {start} the log has no message of a queue"
            found[put, part] = offset, start
            position = start + size
        if position != end and not _is_rest(position, end):
            yield f"the log ends at {end}, its last message at {position}"
        for put, part in sorted((promised.keys() if is_all else self._due) - found.keys()):
            yield f"put {put}/{part} of {queue_of(put)} is lost: {promised[put, part]}"
        self.figures["messages verified"] += len(found)

    def _hold(self, held: list[list[int]], end: int) -> None:
        """Consumers have seen these: from now on they are promised, and everything else is not."""
        for put, part, offset, start, _ in held:
            self._firm[put, part] = offset, start
            queue = QUEUES.index(queue_of(put))
            self._starts[queue] = max(self._starts[queue], offset + 1)
        self._loose.clear()
        self._due.clear()
        self._end = end


def _is_rest(position: int, start: int) -> bool:
    """Whether nothing but the rest of a file lies between."""
    return start % LOG_FILE_BYTES == 0 and BLANK_BYTES <= start - position < LOG_FILE_BYTES
