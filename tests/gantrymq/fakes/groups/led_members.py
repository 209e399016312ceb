"""Provides members that are master, with a follower or without, and their pauses."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.brokers.broker import STORE_SETTINGS
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.groups.members import Member, pair
from gantrymq.store.settings import FlushDiskType
from gantrymq.wire import frames
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

SEND = RequestCode.SEND_MESSAGE_V2
SYNC = replace(STORE_SETTINGS, flush_disk_type=FlushDiskType.SYNC_FLUSH)
SUCCESS = ResponseCode.SUCCESS
WAITS = SUSPENDS | SUBSCRIBES


def led(number: int = 1, store_settings: object = STORE_SETTINGS) -> Member:
    """A member that is master, with a topic T that has a message."""
    member = Member(number, store_settings=store_settings)  # type: ignore[arg-type]  # settings
    member.lead()
    add_topic(member)
    assert member.ask(SEND, message(), b"first").code == SUCCESS
    return member


def grouped() -> tuple[Member, Member]:
    """The same with a follower that has it all."""
    master, follower = pair()
    add_topic(master)
    assert master.ask(SEND, message(), b"first").code == SUCCESS
    follower.copy(master)
    return master, follower


def fed(opaque: int = 1) -> bytes:
    command = Command(SEND, opaque=opaque, ext=message().encode(), body=b"fed", version=479)
    return frames.encode(command)


def pause(member: Member, *, is_paused: bool) -> None:
    member.broker.pause(is_paused=is_paused, now=member.now, wall_ms=member.wall_ms)
    member.settle()


def send_keyed(member: Member, body: bytes = b"a", **named: str) -> None:
    """Send a message whose unique key is its body, with these further properties."""
    member.ask(SEND, message(properties={"UNIQ_KEY": body.decode(), **named}), body)
