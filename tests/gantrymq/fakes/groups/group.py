"""Members of a group, each with a store on a disk of the tests, and the bytes between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from gantrymq.fakes.brokers.replicated import bytes_of_log
from gantrymq.fakes.stores.store import SETTINGS, OpenedStore
from gantrymq.ha.disk.epochs import Epoch, Epochs
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.member.links.incoming_link import IncomingLink
from gantrymq.ha.member.links.incoming_links import IncomingLinks
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.member.links.member_events import (
    HeartbeatReceived,
    IncomingLinksEvent,
    OutgoingLinkEvent,
    TableReceived,
    Welcomed,
)
from gantrymq.ha.member.links.outgoing_link import OutgoingLink
from gantrymq.ha.protocol.events import Copied, Ended
from gantrymq.ha.protocol.handshake import Member, MemberReport
from gantrymq.ha.protocol.member_frames import Heartbeat
from gantrymq.ha.protocol.proofs import GroupSecret
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk

SECRET = GroupSecret(b"secret")
MEMBERS = frozenset({1, 2, 3})
EPOCH = 1
FIRST = (Epoch(EPOCH, 0),)
_NONCES = (number.to_bytes(16) for number in count())


def member(number: int) -> Member:
    return Member("broker-a", number, f"boot-{number}")


class Master(OpenedStore):
    """Member 1, which leads from the beginning, unless it is told not to."""

    def __init__(
        self,
        in_sync: set[int] | None = None,
        disk: FaultyDisk | MemoryDisk | None = None,
        settings: StoreSettings = SETTINGS,
        *,
        waits: bool = True,
        min_in_sync: int = 2,
        leads: bool = True,
    ) -> None:
        super().__init__(FaultyDisk() if disk is None else disk, settings)
        flushes = settings.flush_disk_type is FlushDiskType.SYNC_FLUSH
        links = LinkSettings(
            member(1), SECRET, MEMBERS, waits=waits, flushes=flushes, min_in_sync=min_in_sync
        )
        self.epoch = EPOCH
        self.epochs: Epochs = (Epoch(EPOCH, self.store.log.start),)
        self.group = ""
        self.in_sync = InSyncReplicas(1, in_sync or {1, 2}, self.now, flushes=flushes)
        self.followers = IncomingLinks(self.store, links, self.member_report, _NONCES.__next__)
        self._last_link = 0
        if leads:
            self.followers.lead(self.epoch, self.in_sync, self.now)
            self.followers.tables({}, self.now)

    def member_report(self) -> MemberReport:
        return member_report(self, self.epoch, self.epochs)._replace(group=self.group)

    def opened(self, address: str = "10.0.0.9:40000") -> IncomingLink:
        self._last_link += 1
        link = self.followers.opened(self._last_link, address, self.now)
        assert link is not None
        return link

    def round(self, seconds: float = 0.0) -> list[Ended]:
        """A turn of the store, and what comes behind; cold bytes are there at once."""
        self.turn(seconds)
        over = list(self.followers.turn(self.now))
        if any(each.kind == "read" for each in self.background.jobs):
            for job in self.background.jobs:
                if job.kind == "read":
                    self.background.complete(job.ticket)
            self.turn()
            over += self.followers.turn(self.now)
        return [ended for _, ended in over]

    def bytes_of_log(self, start: int = 0, end: int | None = None) -> bytes:
        return bytes_of_log(self, start, end)


class Follower(OpenedStore):
    """Another member, with the state of a copy."""

    def __init__(
        self,
        number: int = 2,
        disk: FaultyDisk | MemoryDisk | None = None,
        settings: StoreSettings = SETTINGS,
        epochs: Epochs = FIRST,
        epoch: int = EPOCH,
    ) -> None:
        super().__init__(FaultyDisk() if disk is None else disk, settings, is_copy=True)
        self.number = number
        self.epoch = epoch
        self.epochs = epochs
        self.promises = True
        self.beat: Heartbeat | None = None
        self.tables: dict[str, bytes] = {}
        self.stored = 0
        self.link = self.dial()

    def member_report(self) -> MemberReport:
        return member_report(self, self.epoch, () if self.store.log.is_empty else self.epochs)

    def dial(self, secret: GroupSecret = SECRET) -> OutgoingLink:
        me = member(self.number)
        self.link = OutgoingLink(me, secret, next(_NONCES), self.member_report(), self.now)
        return self.link

    def receive(self, data: bytes) -> Sequence[OutgoingLinkEvent]:
        """Into the log; what came but the log's bytes."""
        told: list[OutgoingLinkEvent] = []
        for event in self.link.receive(data, self.now):
            match event:
                case Copied():
                    refused = self.store.append_copy(event.position, event.data, self.now)
                    assert refused is None, refused.text
                    continue
                case Welcomed():
                    self.store.begin_copy()
                case HeartbeatReceived(beat):
                    self.beat = beat
                case TableReceived(number, name, content):
                    self.tables[name] = content
                    self.stored = number
                case _:
                    pass
            told.append(event)
        return told

    def report(self) -> None:
        asked = self.beat.asked if self.beat is not None and self.promises else 0
        end = self.store.log.end
        self.link.report(end, self.store.flushed, asked, self.stored, self.now)

    def bytes_of_log(self, start: int = 0, end: int | None = None) -> bytes:
        return bytes_of_log(self, start, end)


class Pipe:
    """One connection, which cuts what goes through it as it is told."""

    def __init__(self, follower: Follower, master: Master, sizes: Sequence[int] = ()) -> None:
        self.follower = follower
        self.master = master
        self.link = master.opened()
        self.told_follower: list[OutgoingLinkEvent] = []
        self.told_master: list[IncomingLinksEvent] = []
        self._sizes = list(sizes)

    def up(self) -> None:
        """What the follower says gets there."""
        self.follower.report()
        for piece in self._cut(b"".join(self.follower.link.take_output())):
            self.told_master += self.master.followers.received(self.link, piece, self.master.now)

    def down(self) -> None:
        """What the master says gets there."""
        for piece in self._cut(b"".join(self.link.take_output())):
            self.told_follower += self.follower.receive(piece)

    def run(self, rounds: int = 6) -> Pipe:
        """As long as it takes to say everything, mostly."""
        for _ in range(rounds):
            self.up()
            self.master.round()
            self.down()
        return self

    def _cut(self, data: bytes) -> Sequence[bytes]:
        pieces = []
        while data:
            size = self._sizes.pop() if self._sizes else len(data)
            pieces.append(data[:size])
            data = data[size:]
        return pieces


def connected(master: Master, follower: Follower, sizes: Sequence[int] = ()) -> Pipe:
    """They have met, and it has all there is."""
    follower.now = master.now
    follower.dial()
    return Pipe(follower, master, sizes).run()


def member_report(opened: OpenedStore, epoch: int, epochs: Epochs) -> MemberReport:
    log = opened.store.log
    return MemberReport(epoch, epochs, log.start, log.end)


def filled(master: Master, messages: int, first: int = 0) -> Master:
    """With so many messages more."""
    master.put(*range(first, first + messages))
    master.turn()
    return master


def follower_of(master: Master, end: int, number: int = 2) -> Follower:
    """A member that has the master's log up to here."""
    follower = Follower(number)
    data = master.bytes_of_log(0, end)
    if data:
        follower.store.begin_copy()
        assert follower.store.append_copy(0, data, follower.now) is None
    assert follower.store.log.end == end
    return follower
