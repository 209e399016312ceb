"""Tests the replies to sends that the kernel accepted."""

from __future__ import annotations

from gantrymq.store.append.pending_sends import Sends
from gantrymq.store.record.put_status import PutStatus
from gantrymq.wire import frames
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader

EXT = {"msgId": "AA", "queueId": "1", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def reply(opaque: int, encoding: int) -> bytes:
    return frames.encode(Command(0, opaque=opaque, flag=1, ext=dict(EXT), encoding=encoding))


REPLIES = reply(7, 0) + reply(8, 1)


def told(status: PutStatus) -> list[Command]:
    answer = Sends(3, REPLIES).answer(status, "no space")
    assert (answer.number, answer.status) == (3, status)
    return FrameReader().decode(answer.replies)


def test_successful_sends_get_the_replies_of_the_kernel() -> None:
    assert Sends(3, REPLIES).answer(PutStatus.PUT_OK).replies is REPLIES


def test_stored_but_unsynced_send_keeps_its_position_and_gets_another_code() -> None:
    first, second = told(PutStatus.FLUSH_DISK_TIMEOUT)
    assert (first.opaque, second.opaque) == (7, 8)
    assert (first.encoding, second.encoding) == (0, 1)
    for one in (first, second):
        assert (one.code, one.flag) == (ResponseCode.FLUSH_DISK_TIMEOUT, 1)
        assert one.ext == EXT
        assert one.remark == "no space"


def test_send_that_is_not_stored_is_refused() -> None:
    first, second = told(PutStatus.SERVICE_NOT_AVAILABLE)
    assert (first.opaque, second.opaque) == (7, 8)
    assert (first.encoding, second.encoding) == (0, 1)
    for one in (first, second):
        assert one.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert one.remark == "no space"
        assert one.ext == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def test_oneway_sends_get_no_reply() -> None:
    assert Sends(3, b"").answer(PutStatus.SERVICE_NOT_AVAILABLE, "why").replies == b""
