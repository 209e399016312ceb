"""Tests notes of producer sessions: every reader gets the first writer's note."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.broker.core.processor.send.session_notes import NOTE_BYTES_MAX, TOPIC
from gantrymq.fakes.brokers.broker import IDENTITY, OpenedBroker
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command


def note(broker: OpenedBroker, session: str = "s:3:0", body: bytes = b"") -> Command:
    ext = {"topic": "T", "session": session}
    return broker.ask(RequestCode.GANTRY_SESSION_NOTE, None, body, ext=ext)


def test_the_first_proposal_is_the_note() -> None:
    broker = OpenedBroker()
    assert note(broker).code == ResponseCode.QUERY_NOT_FOUND
    assert note(broker, body=b"first").body == b"first"
    assert note(broker, body=b"second").body == b"first"
    assert note(broker).body == b"first"
    assert len(broker.opened.records(TOPIC, 0)) == 1


def test_each_epoch_has_its_note_and_ends_the_one_before() -> None:
    broker = OpenedBroker()
    note(broker, "s:3:0", b"three")
    assert note(broker, "s:4:0").code == ResponseCode.QUERY_NOT_FOUND
    assert note(broker, "s:4:0", b"four").body == b"four"
    assert note(broker, "s:3:0").code == ResponseCode.GANTRY_SESSION_FENCED
    assert note(broker, "s:3:0", b"again").code == ResponseCode.GANTRY_SESSION_FENCED


def test_a_restart_knows_the_note() -> None:
    disk = MemoryDisk()
    broker = OpenedBroker(disk=disk)
    note(broker, body=b"first")
    disk.end_process()
    again = OpenedBroker(disk=MemoryDisk(disk.storage), files=broker.saved)
    assert note(again, body=b"second").body == b"first"


def test_a_note_waits_for_its_topic_to_be_saved() -> None:
    broker = OpenedBroker()
    broker.files_are_stuck = True
    ext = {"topic": "T", "session": "s:1:0"}
    request = broker.send(RequestCode.GANTRY_SESSION_NOTE, None, b"x", ext=ext)
    assert broker.is_held(request)


@pytest.mark.parametrize(
    ("session", "body", "code"),
    [
        ("", b"", ResponseCode.INVALID_PARAMETER),
        ("s:1:1", b"", ResponseCode.INVALID_PARAMETER),
        ("s:1:0", bytes(NOTE_BYTES_MAX + 1), ResponseCode.MESSAGE_ILLEGAL),
    ],
)
def test_malformed_session_note_is_refused(session: str, body: bytes, code: ResponseCode) -> None:
    assert note(OpenedBroker(), session, body).code == code


def test_notes_are_the_masters() -> None:
    broker = OpenedBroker(identity=dataclasses.replace(IDENTITY, broker_id=1))
    assert note(broker, body=b"x").code == ResponseCode.SYSTEM_BUSY
