"""The log on its way to a follower: from memory, from the disk, and not at all."""

from __future__ import annotations

from gantrymq.base.disk import DiskFailure
from gantrymq.fakes.brokers.replicated import bytes_of_log
from gantrymq.fakes.stores.store import OpenedStore
from gantrymq.ha.protocol import log_stream
from gantrymq.ha.protocol.events import Ending
from gantrymq.ha.protocol.log_stream import LogStream
from gantrymq.testing.faulty_disk import FaultyDisk

COLD = 1000


class Streamed(OpenedStore):
    """A store with a log of several files, of which nothing is in memory."""

    def __init__(self) -> None:
        faulty = FaultyDisk()
        first = OpenedStore(faulty)
        first.put(*range(60))
        first.turn()
        first.close()
        super().__init__(faulty)
        self.faulty = faulty
        faulty.memory.cool()

    def stream(self, number: int = 1) -> LogStream:
        return LogStream(number, self.store.log, self.store.log_reader, COLD)

    def read(self, *streams: LogStream) -> None:
        """The disk has read what they wanted."""
        self.background.complete_all()
        self.turn()
        log_stream.turn(self.store.log_reader, {n + 1: each for n, each in enumerate(streams)})


def test_nothing_comes_before_it_is_known_where_to_begin() -> None:
    opened = Streamed()
    stream = opened.stream()
    assert not stream.is_ready
    assert not stream.next(100)
    assert len(opened.store.log_reader) == 0


def test_cold_bytes_are_read_in_large_pieces_and_handed_out_in_small_ones() -> None:
    opened = Streamed()
    stream = opened.stream()
    stream.begin(119)
    data = b""
    readings = 0
    while stream.has_more:
        piece = stream.next(300)
        assert len(piece) <= 300
        data += piece
        if stream.is_reading:
            readings += 1
            assert not stream.is_ready
            opened.read(stream)
    end = opened.store.log.end
    assert data == bytes_of_log(opened, 119, None)
    assert stream.sent == end
    assert readings <= end // COLD + 3


def test_unreadable_log_ends_the_stream_with_the_reason() -> None:
    opened = Streamed()
    stream = opened.stream()
    stream.begin(0)
    stream.next(100)
    opened.faulty.fail("read", DiskFailure.BROKEN)
    opened.read(stream)
    assert stream.failure is not None
    assert stream.failure[0] is Ending.DISK
    assert not stream.has_more
    assert not stream.next(100)


def test_what_was_deleted_cannot_be_handed_out() -> None:
    opened = Streamed()
    stream = opened.stream()
    stream.begin(100)
    opened.store.log.remove_first()
    opened.read(stream)
    assert not stream.next(100)
    assert stream.failure is not None
    assert stream.failure[0] is Ending.TOO_FAR_BEHIND
    assert "log ends at 100" in stream.failure[1]


def test_what_is_deleted_while_it_is_read_ends_the_stream_behind_it() -> None:
    opened = Streamed()
    stream = opened.stream()
    stream.begin(200)
    stream.next(100)
    opened.store.log.remove_first()
    data = b""
    while stream.has_more:
        opened.read(stream)
        data += stream.next(100)
    assert len(data) <= COLD
    assert stream.failure is not None
    assert stream.failure[0] is Ending.TOO_FAR_BEHIND


def test_closed_stream_reads_nothing() -> None:
    opened = Streamed()
    stream = opened.stream()
    stream.begin(0)
    stream.next(100)
    stream.close()
    assert len(opened.store.log_reader) == 0
    opened.read(stream)
    assert not stream.is_ready
    assert not opened.store.log_reader.is_due
