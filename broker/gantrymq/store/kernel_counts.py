"""What a kernel took for one topic, as counts by the mean size of each request's messages."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

# Upper bounds of the classes of sizes. Those of RocketMQ's metric rocketmq_message_size.
SIZE_BOUNDS: Final = (1024, 4096, 524288, 1048576, 2097152, 4194304)

_SMALL: Final = 1024
_MEDIUM: Final = 4096


@final
class SizeCounts:
    """Requests and messages of one topic; a kernel counts in it, hence native numbers.

    A frame that the kernel takes is shorter than the third bound, so it has three classes.
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
        """One request with so many messages, of so many bytes together."""
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
    """The same as plain numbers, of one topic and one type of messages."""

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
