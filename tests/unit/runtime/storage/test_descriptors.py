"""Tests descriptors: shares of a low limit, the warning, and the reserve."""

from __future__ import annotations

import errno
import os

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.storage.descriptors import DescriptorReserve, connections_allowed, few_files


@pytest.mark.parametrize(
    ("files", "allowed"), [(1 << 20, 10_000), (11_024, 10_000), (4096, 3072), (1024, 512), (2, 1)]
)
def test_connections_leave_descriptors_for_the_store(files: int, allowed: int) -> None:
    assert connections_allowed(10_000, files) == allowed


def test_low_limit_is_logged_with_the_value_to_set() -> None:
    [warning] = few_files(10_000, 4096)
    assert "may have 4096 files open, so it takes 3072 connections" in warning
    assert "ulimit -n 11024" in warning
    assert few_files(10_000, 11_024) == []


def test_a_process_without_room_for_a_connection_does_not_start() -> None:
    with pytest.raises(ConfigurationError, match="ulimit -n"):
        connections_allowed(10, 0)


class Opener:
    """A system in which one descriptor becomes free when the reserve is released."""

    def __init__(self, reserve: DescriptorReserve, error: int = errno.EMFILE) -> None:
        self.reserve = reserve
        self.error = error

    def __call__(self) -> int:
        if len(self.reserve):
            raise OSError(self.error, os.strerror(self.error))
        return 77


def test_reserve_is_released_to_open_a_file_and_filled_again() -> None:
    reserve = DescriptorReserve(2)
    reserve.fill()
    assert reserve.open(Opener(reserve)) == 77
    assert len(reserve) == 2
    reserve.give_up()
    assert len(reserve) == 0


def test_another_failure_leaves_the_reserve_alone() -> None:
    reserve = DescriptorReserve(1)
    reserve.fill()
    with pytest.raises(OSError, match="No space"):
        reserve.open(Opener(reserve, errno.ENOSPC))
    assert len(reserve) == 1
    reserve.give_up()
