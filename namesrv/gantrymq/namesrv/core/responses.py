"""The few shapes that answers have."""

from __future__ import annotations

from gantrymq.namesrv.core.messages import Reply
from gantrymq.remoting.refusal import refusal
from gantrymq.wire import javajson
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header


def done(header: Header | None = None, body: bytes = b"") -> Reply:
    """Success."""
    ext = None if header is None else header.encode()
    return Reply(Command(ResponseCode.SUCCESS, ext=ext, body=body))


def refused(code: ResponseCode, remark: str) -> Reply:
    return Reply(refusal(code, remark))


def topic_list(topics: TopicList) -> Reply:
    return done(body=javajson.dumps_fastjson(topics.to_json()))


def disabled() -> Reply:
    """A list that the settings withhold."""
    return refused(ResponseCode.SYSTEM_ERROR, "disable")
