"""Tests how the lag is reported in steps."""

from __future__ import annotations

import pytest

from gantrymq.operator.plan.status.lag import lag_steps, lag_text

MI = 1 << 20


@pytest.mark.parametrize(
    ("lag_bytes", "text"),
    [(0, "0"), (1, "<1Mi"), (MI, "1Mi"), (MI + 1, "2Mi"), (12 * MI, "16Mi"), (3 << 30, "4Gi")],
)
def test_a_lag_is_rounded_up(lag_bytes: int, text: str) -> None:
    assert lag_text(lag_steps(lag_bytes, is_in_sync=False)) == text


def test_a_member_in_sync_has_no_small_lag() -> None:
    """Otherwise the status would change with each message."""
    assert lag_text(lag_steps(4096, is_in_sync=True)) == "0"
