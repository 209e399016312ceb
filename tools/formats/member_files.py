"""Describes what a member of an elected group keeps about the group and about itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.broker.setup import lease_name
from gantrymq.ha.disk import epoch_file, identity
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.lease import lease_copy
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.lease.lease_object import ObjectName
from gantrymq.ha.member import disk_decision, persistent_state
from gantrymq.ha.member.disk_decision import Choice, Decision
from gantrymq.ha.member.persistent_state import PersistentState
from gantrymq.testing.memory_disk import MemoryDisk
from tools.formats import specimen
from tools.formats.checked_file import HEAD, json_lines
from tools.formats.layout import Example, Field, Part, Piece

EPOCH: Final = Part(
    "epoch",
    (
        Field("number", "int64", "of the epoch; numbers rise"),
        Field("start", "int64", "position of its first record in the log"),
    ),
)
NAME: Final = Part("name", (Field("name of the Lease", "text", "UTF-8", "n"),))

_DISK: Final = "5f0c7d2e9a414b6f8d3e1c2b3a495867"
_GROUP: Final = "0b8e6c1d4f7a4e2c9d1b3a5f7e9c2d4b"


def epochs_example() -> Sequence[str]:
    """Two epochs."""
    data = epoch_file.encode((Epoch(1, 0), Epoch(4, 73216)))
    return [*Example(data, [Piece(HEAD), Piece(EPOCH), Piece(EPOCH)]).lines()]


def member_example() -> Sequence[str]:
    """A member that has seen epoch 4."""
    disk = MemoryDisk()
    persistent_state.write(
        disk, PersistentState(epoch=4, boot="3f1e9c20", is_partial=False, sure_to=73216)
    )
    return json_lines(specimen.content_on(disk, persistent_state.PATH))


def identity_example() -> Sequence[str]:
    """A disk that belongs to a group."""
    return json_lines(identity.encode(Identity(_DISK, _GROUP)))


def lease_example() -> Sequence[str]:
    """The Lease of a group of two whose master is member 1."""
    lease = Lease(
        holder=1,
        address="10.0.0.1:10911",
        ha_address="10.0.0.1:10912",
        epoch=4,
        in_sync=frozenset({1, 2}),
        renewals=17,
        group=_GROUP,
        disks={1: _DISK},
        writer="9d1b3a5f7e9c2d4b",
    )
    return json_lines(lease_copy.encode(lease))


def lease_name_example() -> Sequence[str]:
    """The default name of a group whose plain name could be that of another one."""
    disk = MemoryDisk()
    name = lease_name.default_name("a-b", "c")
    lease_name.note(disk, ObjectName("default", name))
    data = specimen.content_on(disk, lease_name.PATH)
    return [*Example(data, [Piece(NAME, {"n": len(data)})]).lines()]


def decision_example() -> Sequence[str]:
    """An operator chose that the disk's messages belong to the group."""
    return json_lines(disk_decision.encode(Decision(Choice.ADOPT, _GROUP)))
