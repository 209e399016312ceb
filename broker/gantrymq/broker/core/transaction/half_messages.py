"""Lists half messages that wait for a decision, and lets an administrator decide them.

A decision of an administrator is final, as a producer's is: see transaction_end.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Reply
from gantrymq.broker.core.names.system_topics import HALF_TOPIC
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.schedule.system_queue_reader import RECORDS_MAX, records_from
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction.transaction_end import NOT_FOUND, decide
from gantrymq.broker.core.transaction.transactions import HALF_QUEUE, checks_of, group_of, place_of
from gantrymq.store.read import lookups
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.message import offset_id, properties
from gantrymq.wire.message.property_names import UNIQ_KEY
from gantrymq.wire.message.record import Record

# Limit of the half messages on one page.
PAGE_MAX: Final = 1000


@final
@dataclass(frozen=True, slots=True)
class HalfMessage:
    """An open half message. `offset_message_id` is the id that `resolve` takes."""

    number: int
    offset_message_id: str
    unique_key: str
    group: str
    topic: str
    queue_id: int
    age_ms: int
    checks: int


@final
@dataclass(frozen=True, slots=True)
class Page:
    """A page of open half messages, oldest first. `next` is the number at which the next page
    begins, None after the last one."""

    messages: Sequence[HalfMessage]
    next: int | None


def open_half_messages(state: State, first: int = 0, count_max: int = PAGE_MAX) -> Task[Page]:
    """The page of open half messages from this number on, with at most `count_max`."""
    halves = state.open_halves
    bounds = yield from tasks.read(lookups.queue_bounds(state.store, HALF_TOPIC, HALF_QUEUE))
    end = 0 if bounds is None else bounds.maximum
    count_max = min(count_max, PAGE_MAX)
    shown: list[HalfMessage] = []
    at = first
    while (at := halves.next_open(at, end)) < end and len(shown) < count_max:
        count = min(halves.open_run(at, end), RECORDS_MAX, count_max - len(shown))
        found, next_at = yield from records_from(state, HALF_TOPIC, HALF_QUEUE, at, count)
        shown += [_shown(half, state.wall_ms) for half in found]
        if next_at == at:
            break
        at = next_at
    return Page(shown, at if at < end else None)


def resolve(state: State, offset_message_id: str, *, commits: bool) -> Task[Reply]:
    """Commit or roll back a half message in place of its producer."""
    found = yield from tasks.read(lookups.message_by_id(state.store, offset_message_id))
    if found is None or found.record.topic != HALF_TOPIC.encode():
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"{NOT_FOUND}: {offset_message_id} is no half message of {state.identity.name}; take "
            "the offset message id from the list of open ones",
        )
    return (yield from decide(state, found.record, commits=commits, waits=True))


def _shown(half: Record, wall_ms: int) -> HalfMessage:
    topic, queue_id = place_of(half) or ("", -1)
    return HalfMessage(
        number=half.queue_offset,
        offset_message_id=offset_id.encode(half.store_host, half.physical_offset),
        unique_key=properties.get(half.properties, UNIQ_KEY) or "",
        group=group_of(half),
        topic=topic,
        queue_id=queue_id,
        age_ms=wall_ms - half.born_timestamp_ms,
        checks=checks_of(half),
    )
