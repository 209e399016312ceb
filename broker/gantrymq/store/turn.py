"""What a turn of the store brought about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from gantrymq.store.finished import Finished
from gantrymq.store.pending_put import PutAnswer


@final
class Turn:
    """Who gets an answer, where something arrived, what was read. Hot, hence slotted and not
    frozen."""

    __slots__ = ("answers", "arrived", "readings")

    def __init__(
        self,
        answers: Sequence[PutAnswer],
        arrived: Sequence[tuple[str, int]],
        readings: Sequence[Finished],
    ) -> None:
        self.answers: Sequence[PutAnswer] = answers
        self.arrived: Sequence[tuple[str, int]] = arrived
        """Topic and queue id of queues in which consumers find more than before."""
        self.readings: Sequence[Finished] = readings


NOTHING: Final = Turn((), (), ())
