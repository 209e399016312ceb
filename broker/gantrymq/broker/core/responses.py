"""Builds the common forms of responses: success, success with JSON, and refusal."""

from __future__ import annotations

from gantrymq.broker.core.messages import Reply
from gantrymq.remoting.refusal import refusal
from gantrymq.wire import javajson
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.jsonvalue import Json


def done(header: Header | None = None, body: bytes = b"", remark: str | None = None) -> Reply:
    """A response with code SUCCESS."""
    ext = None if header is None else header.encode()
    return Reply(Command(ResponseCode.SUCCESS, ext=ext, body=body, remark=remark))


def done_json(value: Json, header: Header | None = None) -> Reply:
    """A response with code SUCCESS and a body in fastjson's dialect."""
    return done(header, javajson.dumps_fastjson(value))


def refused(code: int, remark: str) -> Reply:
    return Reply(refusal(code, remark))
