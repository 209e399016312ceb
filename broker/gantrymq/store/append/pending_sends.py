"""Holds the replies to sends that the kernel took from one buffer, until they are answered.

The kernel writes the replies for success. On another outcome they are rewritten: the reply to a
stored send keeps its fields and gets another code; the reply to a send that is not stored has only
code and remark.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.record.put_status import PutStatus
from gantrymq.wire import frames
from gantrymq.wire.frames import FrameReader

# Java's fields in every reply to a send, stored or not.
_ALWAYS_SAID: Final = ("MSG_REGION", "TRACE_ON")


@final
class Sends:
    """The sends of one buffer. They have one outcome."""

    __slots__ = ("number", "replies")

    waits: Final = True

    def __init__(self, number: int, replies: bytes) -> None:
        self.number: int = number
        self.replies: bytes = replies

    def answer(self, status: PutStatus, remark: str = "") -> PutAnswer:
        replies = self.replies
        if status is not PutStatus.PUT_OK:
            replies = told_anew(replies, status, remark)
        return PutAnswer(self.number, status, remark=remark, replies=replies)


def told_anew(replies: bytes, status: PutStatus, remark: str) -> bytes:
    """The same replies, rewritten for another outcome."""
    told = []
    for reply in FrameReader().decode(replies):
        reply.code = int(status.response_code)
        reply.remark = remark or None
        if not status.is_stored:
            ext = reply.ext or {}
            reply.ext = {name: ext[name] for name in _ALWAYS_SAID}
        told.append(frames.encode(reply))
    return b"".join(told)
