"""Makes the common forms of responses."""

from __future__ import annotations

from typing import Final

from gantrymq.base.bounds import FRAME_BYTES_MAX
from gantrymq.namesrv.core.messages import Reply
from gantrymq.remoting.refusal import refusal
from gantrymq.wire import javajson
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header

# The header of the response has a few hundred bytes.
LIST_BYTES_MAX: Final = FRAME_BYTES_MAX - (64 << 10)


def done(header: Header | None = None, body: bytes = b"") -> Reply:
    """Success."""
    ext = None if header is None else header.encode()
    return Reply(Command(ResponseCode.SUCCESS, ext=ext, body=body))


def refused(code: ResponseCode, remark: str) -> Reply:
    return Reply(refusal(code, remark))


def topic_list(topics: TopicList) -> Reply:
    """The list, or a refusal if it is too long for clients."""
    body = javajson.dumps_fastjson(topics.to_json())
    if len(body) <= LIST_BYTES_MAX:
        return done(body=body)
    return refused(
        ResponseCode.SYSTEM_ERROR,
        f"the list of {len(topics.topics)} topics has {len(body)} bytes, and clients take answers"
        f" of {LIST_BYTES_MAX}: ask for one topic with mqadmin topicRoute -t, or for those of one"
        " cluster",
    )


def disabled() -> Reply:
    """The refusal of a list that the settings disable."""
    return refused(ResponseCode.SYSTEM_ERROR, "disable")
