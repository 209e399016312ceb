"""Counts responses by request code and response code, with the time they took.

    note(code, answered, seconds)     a request was answered so long after the core received it

Times have the resolution of the event loop's turns: a response that is made in the same turn as its
request counts as 0 s. Keys are RocketMQ's codes or UNKNOWN_CODE, which bounds the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias, final

from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.tables.rocketmq5 import RPC_LATENCY
from gantrymq.wire.codes import ResponseCode

UNKNOWN_CODE: Final = -1

_BOUNDS_MS: Final = RPC_LATENCY.buckets
_ANSWERS: Final = frozenset(map(int, ResponseCode))

# Remarks of flow control begin with one of these in brackets, as clients of RocketMQ expect.
_CAUSES: Final = ("TIMEOUT_CLEAN_QUEUE", "OVERLOAD", "REJECTREQUEST")
_OTHER_CAUSE: Final = "other"


# How a request was answered. These are plain numbers because every request counts one.
PLAIN: Final = 0
ONEWAY: Final = 1
"""The request was oneway: it was carried out, and no response is sent."""
LONG_POLLING: Final = 2
"""The request waited in a long poll before it was answered."""

Key: TypeAlias = tuple[int, int, int]
"""A request code, a response code, and PLAIN, ONEWAY or LONG_POLLING."""


@final
class RequestFigures:
    """Counts the responses of one broker."""

    __slots__ = ("_latencies", "flow_control")

    def __init__(self) -> None:
        self._latencies: dict[Key, Histogram] = {}
        self.flow_control: Counter[str] = Counter()
        """Requests that the broker refused to protect itself, by cause."""

    @property
    def latencies(self) -> Mapping[Key, Histogram]:
        """Histograms of the milliseconds from request to response."""
        return self._latencies

    def note(
        self, code: int, answered: int, seconds: float, way: int = PLAIN, times: int = 1
    ) -> None:
        """Count `times` requests that were answered alike."""
        answered = int(answered)  # enums are slow to hash
        if answered not in _ANSWERS:
            answered = UNKNOWN_CODE  # a client answered it, and that is passed on as it is
        key = (code, answered, way)
        latency = self._latencies.get(key)
        if latency is None:
            latency = self._latencies[key] = Histogram(_BOUNDS_MS)
        latency.note(seconds * 1000, times)

    def note_refusal(self, remark: str | None) -> None:
        """Count a response of SYSTEM_BUSY by the cause with which its remark begins."""
        told = (remark or "").removeprefix("[").partition("]")[0]
        self.flow_control[told.lower() if told in _CAUSES else _OTHER_CAUSE] += 1

    def counts(self) -> Counter[tuple[int, int]]:
        """The number of responses by request code and response code."""
        counts: Counter[tuple[int, int]] = Counter()
        for (code, answered, _), latency in self._latencies.items():
            counts[code, answered] += latency.count
        return counts
