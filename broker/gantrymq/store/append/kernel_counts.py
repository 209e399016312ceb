"""Counts the messages that the send kernel takes for one topic, and their sizes."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

# Upper bounds of the classes of sizes, as in RocketMQ's metric rocketmq_message_size.
SIZE_BOUNDS: Final = (1024, 4096, 524288, 1048576, 2097152, 4194304)

_SMALL: Final = 1024
_MEDIUM: Final = 4096


@final
class SizeCounts:
    """Counts requests and messages of one topic while the kernel takes them.

    Requests count in a class by the mean size of their messages. The kernel takes only frames that
    are shorter than the third bound, so three classes are enough. The numbers are native, because
    the kernel counts on the hot path.
    """

    __slots__ = ("count", "large", "mean_sizes", "medium", "requests", "size", "small")

    def __init__(self) -> None:
        self.count: i64 = 0
        self.size: i64 = 0
        self.requests: i64 = 0
        self.mean_sizes: i64 = 0
        self.small: i64 = 0
        self.medium: i64 = 0
        self.large: i64 = 0

    def note(self, count: i64, size: i64) -> None:
        """Count one request with `count` messages, which have `size` bytes together."""
        mean: i64 = size // count
        self.count += count
        self.size += size
        self.requests += 1
        self.mean_sizes += mean
        if mean <= _SMALL:
            self.small += 1
        elif mean <= _MEDIUM:
            self.medium += 1
        else:
            self.large += 1


@final
class KernelCounts:
    """A SizeCounts as plain numbers, with the topic and whether its messages are ordered."""

    __slots__ = ("count", "is_fifo", "mean_sizes", "requests", "size", "sizes", "topic")

    def __init__(self, topic: str, counts: SizeCounts, *, is_fifo: bool) -> None:
        self.topic: str = topic
        self.is_fifo: bool = is_fifo
        self.count: int = int(counts.count)
        self.size: int = int(counts.size)
        self.requests: int = int(counts.requests)
        self.mean_sizes: int = int(counts.mean_sizes)
        sizes = [int(counts.small), int(counts.medium), int(counts.large)]
        self.sizes: list[int] = sizes + [0] * (len(SIZE_BOUNDS) + 1 - len(sizes))
