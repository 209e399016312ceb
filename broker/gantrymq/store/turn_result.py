"""Defines what one turn of the store returns to the broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.read.read_result import Finished


@final
class TurnResult:
    """The answers to sends, the queues with new messages, and the reads that ended.

    Created on the hot path, hence slotted rather than a frozen dataclass.
    """

    __slots__ = ("answers", "arrived", "finished_reads")

    def __init__(
        self,
        answers: Sequence[PutAnswer],
        arrived: Sequence[tuple[str, int]],
        finished_reads: Sequence[Finished],
    ) -> None:
        self.answers: Sequence[PutAnswer] = answers
        self.arrived: Sequence[tuple[str, int]] = arrived
        """Topic and queue id of each queue that has new messages for consumers."""
        self.finished_reads: Sequence[Finished] = finished_reads


NOTHING: Final = TurnResult((), (), ())
