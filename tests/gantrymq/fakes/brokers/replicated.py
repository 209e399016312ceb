"""Connects a master's store and a slave's, each on a simulated disk."""

from __future__ import annotations

from collections.abc import Sequence

from gantrymq.fakes.stores.store import SETTINGS, OpenedStore
from gantrymq.ha.classic.log_receiver import LogReceiver
from gantrymq.ha.classic.log_sender import LogSender
from gantrymq.ha.classic.log_senders import LogSenders
from gantrymq.ha.protocol.events import Copied, Ended
from gantrymq.ha.settings import HaSettings
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk

SYNC_MASTER = HaSettings(waits=True)


class Master(OpenedStore):
    """A store that slaves copy."""

    def __init__(
        self,
        disk: FaultyDisk | MemoryDisk | None = None,
        settings: StoreSettings = SETTINGS,
        ha: HaSettings = HaSettings(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(FaultyDisk() if disk is None else disk, settings)
        self.followers = LogSenders(self.store, ha)

    def connect(self, *reports: int) -> LogSender:
        """Connect a slave that reports these ends of its log."""
        follower = self.followers.opened("10.0.0.9:40000", self.now)
        assert follower is not None
        for position in reports:
            self.hear(follower, position)
        return follower

    def hear(self, follower: LogSender, position: int) -> list[Ended]:
        """Process a report; returns the links that it ends."""
        data = position.to_bytes(8, signed=True)
        events = self.followers.heard(follower, data, self.now)
        return [event for event in events if isinstance(event, Ended)]

    def send(self, follower: LogSender) -> bytes:
        """The bytes that a turn sends to the slave, including cold ones."""
        sent = b""
        for _ in range(100):
            self.turn()
            assert not self.followers.turn(self.now)
            sent += b"".join(follower.take_output())
            self.background.complete_all()
            if not (self.followers.is_due or follower.stream.is_reading):
                break
        return sent

    def bytes_of_log(self, start: int = 0, end: int | None = None) -> bytes:
        return bytes_of_log(self, start, end)


class Slave(OpenedStore):
    """A store that copies a master's log."""

    def __init__(
        self, disk: FaultyDisk | MemoryDisk | None = None, settings: StoreSettings = SETTINGS
    ) -> None:
        super().__init__(FaultyDisk() if disk is None else disk, settings, is_copy=True)
        self.link = self.connect()

    def connect(self) -> LogReceiver:
        begin = self.store.begin_copy()
        self.link = LogReceiver(begin or 0, HaSettings(), self.now, is_empty=begin is None)
        return self.link

    def receive(self, data: bytes) -> Sequence[Ended]:
        """Append data to the log; returns the events that end the connection."""
        over = []
        for event in self.link.receive(data, self.now):
            if isinstance(event, Copied):
                refused = self.store.append_copy(event.position, event.data, self.now)
                self.link.appended(self.store.log.end, self.now)
                assert refused is None, refused.text
            else:
                over.append(event)
        return over

    def report(self) -> int:
        """The last position that the slave reported since the last call."""
        return int.from_bytes(b"".join(self.link.take_output())[-8:])

    def bytes_of_log(self, start: int = 0, end: int | None = None) -> bytes:
        return bytes_of_log(self, start, end)


def bytes_of_log(opened: OpenedStore, start: int, end: int | None) -> bytes:
    log = opened.store.log
    data = b""
    while start < (log.end if end is None else end):
        data += log.segments.read(start, (log.end if end is None else end) - start)
        start = max(log.segments.start_of(start) + log.segments.file_bytes, start)
    return data


def cold(disk: FaultyDisk) -> Master:
    """A master that has one message, which is not in memory."""
    master = Master(disk)
    master.put(1)
    master.turn()
    master.close()
    again = Master(disk)
    disk.memory.cool()
    return again
