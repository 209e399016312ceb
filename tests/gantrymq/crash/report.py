"""What a writer tells the test, one line each over a pipe.

    born                                    the process runs
    opening                                 recovery begins
    opened                                  it is done, and what there is will be told
    held PUT PART OFFSET POSITION SIZE      found after recovery, and sound
    fault TEXT                              what is not as it must be
    serving END REWRITTEN REBUILT WALKED CLEAN
                                            messages are taken; the log's end, bytes written again,
                                            queues made again, bytes walked through, 1 for a start
                                            after a clean stop
    ok PUT OFFSET POSITION...               answered PUT_OK, the positions of its parts
    refused PUT STATUS TEXT                 answered otherwise
    flushed POSITION                        below it the log is on disk, says the store
    stopping                                the clean stop begins
    stopped                                 it is done
    last TEXT                               why the process ends by itself

A line that a kill has cut short was not told: it is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One line, with its numbers where its kind has some."""

    kind: str
    text: str

    @property
    def numbers(self) -> list[int]:
        return [int(word) for word in self.text.split()]


@final
class Lines:
    """Bytes from the pipe, as they come, to lines."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, data: bytes) -> Iterator[Line]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            kind, _, text = line.decode().partition(" ")
            yield Line(kind, text)
