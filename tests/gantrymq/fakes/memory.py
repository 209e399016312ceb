"""Shrinks memory accounts for tests."""

from __future__ import annotations

from gantrymq.base.memory_account import Kind, MemoryAccount


def shrink(account: MemoryAccount, kind: Kind, size: int) -> None:
    """Leave so much room for this kind; the limit of all kinds together stays."""
    account._limits[kind] = size
