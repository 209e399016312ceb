"""Joins two sessions in memory: `carry` is the network, and time is a number."""

from __future__ import annotations

from gantrymq.remoting.events import (
    Event,
    Requests,
)
from gantrymq.remoting.limits import SessionLimits
from gantrymq.remoting.session import Session
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode

LIMITS = SessionLimits()


SMALL = SessionLimits(
    requests_out_max=2, requests_in_max=4, bytes_in_max=64 * 1024, bytes_out_max=4096
)


def carry(sender: Session, receiver: Session, now: float = 0.0) -> list[Event]:
    """Deliver all output of the sender; returns the receiver's events."""
    events: list[Event] = []
    for piece in sender.take_output():
        events += receiver.receive(piece, now)
    return events


def drop(sender: Session) -> None:
    """Drop all output of the sender."""
    sender.take_output()


def requests(events: list[Event]) -> list[Command]:
    return [
        command for event in events if isinstance(event, Requests) for command in event.commands
    ]


def pair(limits: SessionLimits = LIMITS) -> tuple[Session, Session]:
    return Session(limits, 0.0, language=3), Session(limits, 0.0)


def some_requests(count: int, *, body: bytes = b"", version: int = 479) -> bytes:
    return b"".join(
        encode(Command(105, opaque=opaque, body=body, version=version)) for opaque in range(count)
    )
