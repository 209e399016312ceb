"""Tests that refusals begin with RocketMQ's texts and that long remarks are cut."""

from __future__ import annotations

import pytest

from gantrymq.remoting.refusal import (
    REMARK_CHARACTERS_MAX,
    clip,
    failed,
    going_away,
    not_supported,
    overloaded,
    rejected,
)
from gantrymq.wire.command import Command


def test_an_unknown_code_gets_java_s_text_with_its_leading_space() -> None:
    refusal = not_supported(9999)

    assert (refusal.code, refusal.remark) == (3, " request type 9999 not supported")


@pytest.mark.parametrize(
    ("refusal", "code", "prefix"),
    [
        (overloaded("append", 250), 2, "[OVERLOAD]system busy, start flow control for a while"),
        (rejected("disk full"), 2, "[REJECTREQUEST]system busy, start flow control for a while"),
        (failed("boom"), 1, "boom"),
        (going_away(), 1500, "please go away"),
    ],
)
def test_refusals_keep_rocketmq_s_prefixes(refusal: Command, code: int, prefix: str) -> None:
    assert refusal.code == code
    assert refusal.remark is not None
    assert refusal.remark.startswith(prefix)


def test_overload_refusal_names_the_slow_stage_and_its_delay() -> None:
    assert "append takes 250 ms" in (overloaded("append", 250).remark or "")


def test_a_remark_is_cut_at_the_bound_and_says_so() -> None:
    exact, longer = "x" * REMARK_CHARACTERS_MAX, "x" * (REMARK_CHARACTERS_MAX + 1)

    assert clip(exact) == exact
    assert len(clip(longer)) == REMARK_CHARACTERS_MAX
    assert clip(longer).endswith("x…")
    assert failed(longer).remark == clip(longer)
