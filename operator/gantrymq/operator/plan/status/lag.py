"""Rounds the lag of a member to coarse steps, so that it does not change with each message."""

from __future__ import annotations

from typing import Final

_MEBIBYTE: Final = 1 << 20


def lag_steps(lag_bytes: int, *, is_in_sync: bool) -> int:
    """Return 0 for less than 1 MiB in sync, 1 for less out of sync, 2 + n for up to 2**n MiB."""
    if lag_bytes < _MEBIBYTE:
        return 0 if is_in_sync or lag_bytes <= 0 else 1
    mebibytes = -(-lag_bytes // _MEBIBYTE)
    return (mebibytes - 1).bit_length() + 2


def lag_text(steps: int) -> str:
    """Return the text of the column: 0, <1Mi, 16Mi, 2Gi."""
    if steps < 2:
        return ("0", "<1Mi")[steps]
    exponent = steps - 2
    return f"{1 << exponent}Mi" if exponent < 10 else f"{1 << exponent - 10}Gi"
