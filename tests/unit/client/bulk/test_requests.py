"""Requests made of rows: how they are batched and numbered."""

from __future__ import annotations

from gantrymq.client.bulk.outgoing import Origin, OutgoingMessage
from gantrymq.client.bulk.requests import BulkRequest, Lane
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message import batch

QUEUE = MessageQueue("T", "broker-a", 3)
PROPERTIES = b"UNIQ_KEY\x01K\x02"


def lane(batch_bytes: int = 100, *, is_idempotent: bool = True) -> Lane:
    return Lane(QUEUE, Origin("sink", 7, 2), batch_bytes, is_idempotent=is_idempotent)


def added(lane: Lane, *messages: OutgoingMessage) -> list[BulkRequest]:
    requests = [
        request
        for row, message in enumerate(messages)
        for request in lane.add(message, PROPERTIES, row)
    ]
    return [*requests, *lane.take()]


def test_a_batch_ends_before_it_gets_too_long() -> None:
    requests = added(lane(), *[OutgoingMessage(bytes([65 + row])) for row in range(5)])
    assert [request.count for request in requests] == [2, 2, 1]
    assert [request.first for request in requests] == [0, 2, 4]
    assert [(request.first_row, request.last_row) for request in requests] == [
        (0, 1),
        (2, 3),
        (4, 4),
    ]
    assert [part.body for part in batch.decode(requests[1].body)] == [b"C", b"D"]


def test_a_message_longer_than_a_batch_is_one() -> None:
    (request,) = added(lane(), OutgoingMessage(bytes(500)))
    assert request.count == 1


def test_a_delayed_message_goes_alone_and_keeps_its_place() -> None:
    delayed = OutgoingMessage(b"b", {"DELAY": "1"}, flag=4)
    requests = added(lane(), OutgoingMessage(b"a"), delayed, OutgoingMessage(b"c"))
    assert [request.is_batch for request in requests] == [True, False, True]
    assert [request.first for request in requests] == [0, 1, 2]
    command = requests[1].command("group", 5)
    assert command.code == RequestCode.SEND_MESSAGE_V2
    assert (command.body, (command.ext or {})["h"]) == (b"b", "4")


def test_a_request_says_where_it_stands_in_its_session() -> None:
    requests = added(lane(), *[OutgoingMessage(b"x")] * 3)
    commands = [request.command("group", 5) for request in requests]
    assert [(command.ext or {})["gantrySession"] for command in commands] == [
        "sink/2/T/3:7:0",
        "sink/2/T/3:7:2",
    ]


def test_a_request_of_no_session_says_nothing_of_one() -> None:
    (request,) = added(lane(is_idempotent=False), OutgoingMessage(b"x"))
    assert "gantrySession" not in (request.command("group", 5).ext or {})
