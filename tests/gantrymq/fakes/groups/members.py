"""Plays the members of a group by hand: a message travels when the test says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import IDENTITY, STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.replicated import bytes_of_log
from gantrymq.ha.protocol.proofs import GroupSecret
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk

SECRET = b"sixteen bytes and more"


class FakeMembers:
    """Says which members lack the tables, and remembers that they were spread."""

    def __init__(self, *lacking: str) -> None:
        self.missing: list[str] = list(lacking)
        self.epoch = 1
        self.spreads = 0

    def spread(self) -> int:
        self.spreads += 1
        return self.spreads

    def lacking(self, number: int) -> Sequence[str]:
        assert 0 < number <= self.spreads
        return self.missing


class Member(OpenedBroker):
    """One of a group's brokers; it begins as a follower."""

    def __init__(
        self,
        number: int,
        settings: BrokerSettings | None = None,
        store_settings: StoreSettings = STORE_SETTINGS,
        *,
        disk: FaultyDisk | MemoryDisk | None = None,
        files: dict[File, bytes] | None = None,
    ) -> None:
        address = f"127.0.0.1:{number}0911"
        identity = replace(IDENTITY, broker_id=number, member=number, address=address)
        super().__init__(settings, store_settings, disk=disk, files=files, identity=identity)
        self.state.group_secret = GroupSecret(SECRET)

    @property
    def address(self) -> str:
        return self.state.identity.address

    def lead(self, epoch: int = 1) -> None:
        self.broker.lead(epoch, self.now, self.wall_ms)
        self.settle()

    def follow(self, address: str = "") -> None:
        """Not master any more; and the present master."""
        self.broker.follow(self.now, self.wall_ms)
        self.settle()
        self.master_is(address)

    def master_is(self, address: str) -> None:
        self.broker.master_is(address, self.now, self.wall_ms)
        self.settle()

    def copy_log(self, master: OpenedBroker, *, is_flushed: bool = True) -> None:
        """All that the master has and we have not."""
        store = self.state.store
        start = store.begin_copy() or 0
        data = bytes_of_log(master.opened, start, None)
        file_bytes = store.settings.mapped_file_size_commit_log
        while data:
            piece = data[: file_bytes - start % file_bytes]
            refused = store.append_copy(start, piece, self.now)
            assert refused is None, refused.text
            start, data = start + len(piece), data[len(piece) :]
        self.settle()
        if is_flushed:
            store.flush_soon(self.now)
            self.settle()

    def copy_tables(self, master: OpenedBroker, *names: str) -> None:
        """As they are now: all of them, or these."""
        for name, content in master.broker.tables().items():
            if name in names or not names:
                self.broker.take_table(name, content, self.now, self.wall_ms)
        self.settle()

    def copy(self, master: OpenedBroker) -> None:
        self.now = max(self.now, master.now)
        self.copy_log(master)
        self.copy_tables(master)
        self.pass_time(0.1)

    def said(self, text: str) -> bool:
        return any(text in line.text for line in self.lines)


def pair(
    settings: BrokerSettings | None = None, store_settings: StoreSettings = STORE_SETTINGS
) -> tuple[Member, Member]:
    """A master and a follower that has what it has."""
    master, follower = Member(1, settings, store_settings), Member(2, settings, store_settings)
    master.lead()
    follower.master_is(master.address)
    follower.reachable[master.address] = master
    master.reachable[follower.address] = follower
    follower.copy(master)
    return master, follower


def change_places(master: Member, follower: Member, epoch: int = 2) -> None:
    """The follower leads from now on, with what it has."""
    follower.now = max(master.now, follower.now)
    follower.lead(epoch)
    master.follow(follower.address)
