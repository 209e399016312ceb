"""Tests the bits of sysFlag."""

from __future__ import annotations

from gantrymq.wire.message import sys_flag


def test_transaction_types_are_set_apart_from_other_bits() -> None:
    flags = sys_flag.with_transaction_type(0x307, sys_flag.TRANSACTION_COMMIT)
    assert flags == 0x30B
    assert sys_flag.transaction_type(flags) == sys_flag.TRANSACTION_COMMIT
    assert sys_flag.with_transaction_type(flags, sys_flag.TRANSACTION_NONE) == 0x303


def test_host_bits_match_the_hosts() -> None:
    assert sys_flag.with_hosts(0x31, bytes(8), bytes(8)) == 0x01
    assert sys_flag.with_hosts(0x01, bytes(20), bytes(8)) == 0x11
    assert sys_flag.with_hosts(0x01, bytes(8), bytes(20)) == 0x21
