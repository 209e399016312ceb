"""Messages that cannot be are refused when they are made, and say why."""

from __future__ import annotations

import math

import pytest

from gantrymq.client import Message, MessageError, SendStatus, TransactionState


@pytest.mark.parametrize("delay_s", [math.inf, math.nan, -1.0])
def test_delays_are_validated(delay_s: float) -> None:
    with pytest.raises(MessageError, match="a delay is a number from 0 on"):
        Message("T", b"x", delay_s=delay_s)


@pytest.mark.parametrize("body", [None, 5, bytearray(b"x"), ["x"]])
def test_a_body_is_bytes_or_text(body: object) -> None:
    """A bytearray could be changed after it was sent."""
    with pytest.raises(TypeError):
        Message("T", body)  # type: ignore[arg-type]  # that is what is tested


def test_states_are_printed_by_their_names() -> None:
    assert f"{SendStatus.SEND_OK} {TransactionState.UNKNOWN}" == "SEND_OK UNKNOWN"
