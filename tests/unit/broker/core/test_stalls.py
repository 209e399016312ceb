"""No request of a client holds the loop of a broker with large tables for long.

Work is measured in calls of functions, which are the same on each machine. A call takes about
0.1 us with all that happens around it, so CALLS_MAX are half of the 50 ms that count as a stall.
What is done in C in one call, above all the parser of JSON, is not seen here.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Self

import pytest

from gantrymq.attack.large_state import COMMON, EAGER, WIDE, bodies, group_name, plausible, tables
from gantrymq.broker.core.messages import File, Request
from gantrymq.broker.core.processor.requests import REQUEST_CODES
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.codes import RequestCode, ResponseCode, request_name
from gantrymq.wire.command import Command

CALLS_MAX = 250_000
# Some requests take thousands of pieces, which are all alike.
PIECES_MAX = 100

# A request that goes through all topics in one piece makes at least 50 calls for each of them.
TOPICS, GROUPS = 5_000, 500

# They remove what the others ask about, so they come last. The last one goes on in the turns of
# all that follows it.
REMOVING = (
    RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
    RequestCode.CLEAN_UNUSED_TOPIC,
    RequestCode.UNREGISTER_CLIENT,
    RequestCode.GET_BROKER_CONSUME_STATS,
)


class CallCount:
    """Counts the calls of functions while it is active."""

    def __init__(self) -> None:
        self.calls = 0

    def __enter__(self) -> Self:
        self.calls = 0
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.calls += 1


def large_broker() -> OpenedBroker:
    files = {File(name): content for name, content in tables(TOPICS, GROUPS).items()}
    broker = OpenedBroker(files=files)
    broker.settle()
    return broker


@pytest.fixture(scope="module")
def shared() -> OpenedBroker:
    return large_broker()


def longest_piece(broker: OpenedBroker, code: int, topic: str, group: str) -> int:
    """The most calls that the request, or a turn after it, makes before others have theirs."""
    ext, body = plausible(code, topic, group), bodies(code, topic, group)
    ext |= {"offline": "true"} if code == RequestCode.CLONE_GROUP_OFFSET else {}
    ext |= {"removeOffset": "true"} if code == RequestCode.DELETE_SUBSCRIPTIONGROUP else {}
    request = Request(Command(code, ext=ext, body=body), broker.channel)
    with CallCount() as count:
        broker.broker.handle(request, broker.now, broker.wall_ms)
    longest = count.calls
    for _ in range(PIECES_MAX):
        with CallCount() as count:
            broker.broker.turn(broker.now, broker.wall_ms)
            effects = broker.broker.take_effects()
        longest = max(longest, count.calls)
        for effect in effects:
            broker._carry_out(effect)
        if broker.opened.background.jobs:
            broker.opened.background.complete_all()
        if not effects and broker.broker.deadline() > broker.now:
            break
    return longest


@pytest.mark.parametrize("code", sorted(set(REQUEST_CODES) - set(REMOVING)), ids=request_name)
def test_a_request_is_carried_out_in_short_pieces(code: int, shared: OpenedBroker) -> None:
    eager = longest_piece(shared, code, COMMON, EAGER)
    wide = longest_piece(shared, code, WIDE, group_name(0))

    assert max(eager, wide) <= CALLS_MAX, f"{eager} calls for many topics, {wide} for many queues"


@pytest.mark.parametrize("code", REMOVING, ids=request_name)
def test_what_is_removed_is_removed_in_short_pieces(code: int, shared: OpenedBroker) -> None:
    assert longest_piece(shared, code, WIDE, EAGER) <= CALLS_MAX


@pytest.mark.parametrize(
    "code",
    [
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
    ],
    ids=request_name,
)
def test_long_lists_are_carried_out_whole(code: RequestCode) -> None:
    broker = OpenedBroker()
    answer = broker.ask(code, body=bodies(code, COMMON, EAGER))

    assert answer.code == ResponseCode.SUCCESS
    assert broker.state.topics.find("new-4999") or broker.state.groups.find("new-4999")
