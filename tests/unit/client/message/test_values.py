"""Tests that messages and results can be kept, copied and pickled."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import pytest

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.message.results import SendResult, SendStatus
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message.record import Record

QUEUE = MessageQueue("T", "b", 3)
RESULT = SendResult(SendStatus.SEND_OK, "ID", QUEUE, 7, "PLACE", recall_handle="h")

T = TypeVar("T")
Remake: TypeAlias = Callable[[T], T]


def pickled(value: T) -> T:
    return pickle.loads(pickle.dumps(value))  # type: ignore[no-any-return]  # noqa: S301 - our own


@pytest.mark.parametrize("remake", [copy.copy, copy.deepcopy, pickled])
def test_a_message_can_be_copied(remake: Remake[Message]) -> None:
    message = Message("T", b"x", tag="a", keys=["k"], flag=-5)
    made = remake(message)
    assert repr(made) == repr(message)
    assert (made.body, made.flag) == (b"x", -5)
    made.properties["more"] = "1"
    assert "more" not in message.properties


@pytest.mark.parametrize("remake", [copy.copy, copy.deepcopy, pickled])
def test_a_received_message_can_be_copied(remake: Remake[ReceivedMessage]) -> None:
    record = Record(
        b"T", b"x", properties=b"TAGS\x01a\x02", born_host=bytes(8), store_host=bytes(8), flag=9
    )
    message = ReceivedMessage(record, QUEUE, (1, 5))
    message.rename("U")
    made = remake(message)
    assert made.record == record
    assert repr(made) == repr(message)
    assert made.properties == {"TAGS": "a", "MIN_OFFSET": "1", "MAX_OFFSET": "5"}


@pytest.mark.parametrize("remake", [copy.copy, copy.deepcopy, pickled])
def test_a_result_can_be_copied_and_compared(remake: Remake[SendResult]) -> None:
    made = remake(RESULT)
    assert made == RESULT
    assert hash(made) == hash(RESULT)
    assert made != RESULT.of_topic("U")
    assert RESULT.of_topic("U").of_topic("T") == RESULT
    assert "recall_handle='h'" in repr(made)


@pytest.mark.parametrize("flag", [1 << 31, -(1 << 31) - 1])
def test_a_flag_has_32_bits(flag: int) -> None:
    with pytest.raises(MessageError, match="32 bits"):
        Message("T", b"x", flag=flag)
