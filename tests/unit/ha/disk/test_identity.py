"""Which disk a store is, and of which group: the file's bytes, damage, and older versions."""

from __future__ import annotations

import pytest

from gantrymq.ha.disk import identity
from gantrymq.ha.disk.identity import Identity
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.wire.jsonvalue import JsonObject

DISK, GROUP = "c" * 32, "a" * 32
GOLDEN = b'GID1\xa6\x0c\\\x84{"disk":"%b","group":"%b"}' % (DISK.encode(), GROUP.encode())


def data_of(said: JsonObject) -> bytes:
    """A file that says this, with a sum that is right."""
    return identity._FILE.encode(said)


def test_the_bytes_are_as_described() -> None:
    assert identity.encode(Identity(DISK, GROUP)) == GOLDEN
    assert identity.decode(GOLDEN) == Identity(DISK, GROUP)


@pytest.mark.parametrize("known", [Identity(DISK), Identity(DISK, GROUP)])
def test_what_is_written_survives_a_loss_of_power(known: Identity) -> None:
    disk = FaultyDisk()
    assert identity.read(disk) is None
    identity.write(disk, known)
    assert identity.read(disk.crash()) == known


def test_damage_anywhere_is_refused_with_what_to_do() -> None:
    for at in range(len(GOLDEN)):
        flipped = GOLDEN[:at] + bytes([GOLDEN[at] ^ 1]) + GOLDEN[at + 1 :]
        for wrong in (flipped, GOLDEN[:at]):
            with pytest.raises(StoreRefusedError, match=r"identity is damaged.*store archive"):
                identity.decode(wrong)


@pytest.mark.parametrize(
    "said",
    [
        {"group": GROUP},
        {"disk": "", "group": GROUP},
        {"disk": DISK[1:], "group": GROUP},
        {"disk": DISK.upper(), "group": GROUP},
        {"disk": DISK, "group": "g" * 32},
        {"disk": 7, "group": GROUP},
    ],
)
def test_an_identity_that_names_no_uuid_is_refused(said: JsonObject) -> None:
    with pytest.raises(StoreRefusedError, match="identity is damaged"):
        identity.decode(data_of(said))


def test_fields_that_are_absent_or_of_a_later_version_do_no_harm() -> None:
    assert identity.decode(data_of({"disk": DISK})) == Identity(DISK)
    later: JsonObject = {"disk": DISK, "group": GROUP, "more": [1]}
    assert identity.decode(data_of(later)) == Identity(DISK, GROUP)
