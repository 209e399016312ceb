"""The epochs of a log, on its disk."""

from __future__ import annotations

import pytest

from gantrymq.ha.disk.epoch_file import decode, encode, read, write
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.memory_disk import MemoryDisk

EPOCHS = (Epoch(1, 0), Epoch(4, 73_216), Epoch(1 << 40, 1 << 50))


def test_the_bytes_are_as_described() -> None:
    data = encode(EPOCHS[1:2])
    assert data[:4] == b"GFE1"
    assert data[8:] == (4).to_bytes(8, "big") + (73_216).to_bytes(8, "big")


def test_what_is_written_is_read() -> None:
    disk = MemoryDisk()
    assert read(disk) == ()
    write(disk, EPOCHS)
    assert read(disk) == EPOCHS
    write(disk, EPOCHS[:1])
    assert read(disk) == EPOCHS[:1]


def test_damage_anywhere_is_refused_with_what_to_do() -> None:
    data = encode(EPOCHS)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        for wrong in (bytes(damaged), data[:at]):
            with pytest.raises(StoreRefusedError, match=r"epochs is damaged.*remove it"):
                decode(wrong)
