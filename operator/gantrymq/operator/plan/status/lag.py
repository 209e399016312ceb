"""How far a member is behind, in steps that are coarse enough not to change with each message."""

from __future__ import annotations

from typing import Final

_MEBIBYTE: Final = 1 << 20


def lag_steps(lag_bytes: int, *, is_in_sync: bool) -> int:
    """0 for none, 1 for less than a mebibyte, else the next power of two of mebibytes, plus 1."""
    if lag_bytes < _MEBIBYTE:
        return 0 if is_in_sync or lag_bytes <= 0 else 1
    mebibytes = -(-lag_bytes // _MEBIBYTE)
    return (mebibytes - 1).bit_length() + 2


def lag_text(steps: int) -> str:
    """As the column shows it: 0, <1Mi, 16Mi, 2Gi."""
    if steps < 2:
        return ("0", "<1Mi")[steps]
    exponent = steps - 2
    return f"{1 << exponent}Mi" if exponent < 10 else f"{1 << exponent - 10}Gi"
