"""Compares an embedded broker with what a test expects, and explains the differences as text.

Invariant: a text shows what was found, what was expected, and which messages may still come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, SCHEDULE_TOPIC
from gantrymq.broker.core.state import State
from gantrymq.testing.stored_messages import bodies_of, count_of

# Longer lists and bodies would hide the difference.
BODIES_MAX: Final = 20
BODY_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a group in a topic, summed over all queues."""

    consumed: int
    stored: int

    @property
    def lag(self) -> int:
        """The number of messages that the group has not consumed."""
        return self.stored - self.consumed


def progress_of(state: State, group: str, topic: str) -> Progress:
    """The progress of the group, by the offsets that it has committed."""
    committed = state.offsets.queues(group, topic)
    consumed = stored = 0
    for queue_id in state.store.queues.queue_ids(topic):
        queue = state.store.queues.find(topic, queue_id)
        assert queue is not None, "it was listed"
        stored += queue.end - queue.minimum
        consumed += max(0, committed.get(queue_id, 0) - queue.minimum)
    return Progress(consumed, stored)


def mismatch(core: Broker, topic: str, bodies: Sequence[bytes], *, in_order: bool) -> str | None:
    """How the topic's messages differ from these bodies; None if they are equal."""
    found = bodies_of(core.state.store, topic)
    expected = list(bodies)
    missing, extra = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    if not missing and not extra and not (in_order and found != expected):
        return None
    kind = "in this order " if in_order and not missing and not extra else ""
    lines = [f"topic {topic} does not have {kind}what was expected"]
    lines.append(f"  expected: {_shown(expected)}")
    lines.append(f"  found:    {_shown(found)}")
    if missing:
        lines.append(f"  missing:  {_shown(list(missing.elements()))}")
    if extra:
        lines.append(f"  too many: {_shown(list(extra.elements()))}")
    return "\n".join([*lines, *_elsewhere(core, topic)])


def unconsumed(core: Broker, group: str, topic: str) -> str | None:
    """What the group has not consumed; None if it has consumed everything."""
    state = core.state
    progress = progress_of(state, group, topic)
    if progress.lag == 0:
        return None
    count = f"{progress.consumed} of {progress.stored} messages"
    lines = [f"group {group} has not consumed all of topic {topic}: {count}"]
    if not state.offsets.queues(group, topic):
        told = ", ".join(state.offsets.topics_of(group)) or "none"
        lines.append(
            f"  the group has committed no offset of this topic; it has of: {told}."
            " Consumers commit every 5 s and when they are closed"
        )
    return "\n".join([*lines, *_elsewhere(core, topic)])


def _elsewhere(core: Broker, topic: str) -> Iterator[str]:
    """Lines about messages that may still come, and about other topics that have messages."""
    state = core.state
    waiting = {
        "delayed by a level": _delayed(core),
        "of a timer": state.timers.count,
        "of open transactions": _open_halves(state),
    }
    shown = ", ".join(f"{count} {what}" for what, count in waiting.items() if count)
    if shown:
        yield f"  waiting:  {shown}; call broker.advance(...) until they are due"
    queues = state.store.queues
    counts = {each: count_of(state.store, each) for each in sorted(queues.topics())}
    others = [
        f"{each} ({count})"
        for each, count in counts.items()
        if count and each != topic and state.topics.find(each) is not None
    ]
    yield f"  other topics with messages: {', '.join(others) or 'none'}"


def _delayed(core: Broker) -> int:
    """The number of delayed messages that are not delivered yet, over all levels."""
    queues, service = core.state.store.queues, core.services.delay_service
    return sum(
        queue.end - service.offset(queue_id + 1)
        for queue_id in queues.queue_ids(SCHEDULE_TOPIC)
        if (queue := queues.find(SCHEDULE_TOPIC, queue_id)) is not None
    )


def _open_halves(state: State) -> int:
    queue = state.store.queues.find(HALF_TOPIC, 0)
    if queue is None:
        return 0
    return sum(not state.open_halves.is_done(number) for number in range(queue.minimum, queue.end))


def _shown(bodies: Sequence[bytes]) -> str:
    """The first bodies, shortened with an ellipsis, and how many bodies are left out."""
    texts = [
        repr(body) if len(body) <= BODY_MAX else f"{body[:BODY_MAX]!r}... ({len(body)} bytes)"
        for body in bodies[:BODIES_MAX]
    ]
    left_out = len(bodies) - len(texts)
    more = f", and {left_out} more" if left_out else ""
    return f"[{', '.join(texts)}{more}]"
