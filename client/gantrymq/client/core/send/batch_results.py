"""Collects the results of messages that were sent as one list and spread over batches.

Invariant: each position is that of the message in the given list. A result is created when it is
read, so that unused results cost nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import final, overload

from gantrymq.client.core.errors import SendError
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.send.producer_batch import Batch, Share


class SomeUnsentError(SendError):
    """Some messages of a list were not acknowledged. `failed` has their positions; the others are
    stored. `causes` has one error per failed request."""

    def __init__(self, text: str, causes: Sequence[Exception], failed: Sequence[int]) -> None:
        self.failed = tuple(failed)
        super().__init__(text, causes)


@final
class SendResults(Sequence[SendResult]):
    """The results of all messages, in the order of the list."""

    def __init__(self, shares: Sequence[Share]) -> None:
        """All batches must be stored."""
        self._shares = shares
        self._ends = list(accumulate(share.count for share in shares))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> SendResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[SendResult]: ...
    def __getitem__(self, index: int | slice) -> SendResult | list[SendResult]:
        positions = range(len(self))[index]
        if isinstance(positions, range):
            return [self._at(position) for position in positions]
        return self._at(positions)

    def __iter__(self) -> Iterator[SendResult]:
        for share in self._shares:
            for index in range(share.first, share.first + share.count):
                yield share.batch.result_of(index)

    def __repr__(self) -> str:
        return f"SendResults(<{len(self)} messages in {len(self._shares)} batches>)"

    def _at(self, position: int) -> SendResult:
        number = bisect_right(self._ends, position)
        share = self._shares[number]
        return share.batch.result_of(share.first + position - self._ends[number] + share.count)


def results_of(shares: Sequence[Share]) -> SendResults:
    """Return the results after all batches are over; raises SomeUnsentError."""
    failed: list[int] = []
    unsent: dict[Batch, Exception] = {}
    position = 0
    for share in shares:
        error = share.batch.error
        if error is not None:
            failed += range(position, position + share.count)
            unsent[share.batch] = error
        position += share.count
    if failed:
        causes = tuple(unsent.values())
        text = f"{len(failed)} of {position} messages were not sent: {causes[0]}"
        raise SomeUnsentError(text, causes, failed) from causes[0]
    return SendResults(shares)
