"""Compares an opened store with the ledger: each byte of the log, each queue, each key.

After a recovery `found` first determines how much of the ledger's timeline is in the log. It fails
if the log lost acknowledged messages or has messages that were never put. `audit` then compares
everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from gantrymq.sim.store.store_ledger import Ledger, Message
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.engine import Store
from gantrymq.store.files.segments import Segments
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.index_lookup import KeyQuery, find_offsets
from gantrymq.store.read.readable_store import queue_units
from gantrymq.wire.message.record_scan import BLANK_BYTES, encode_blank

# More than any history enters.
ENTRIES_MAX: Final = 1 << 20


def found(store: Store, ledger: Ledger) -> Sequence[Message]:
    """The number of messages of the timeline, and of doubtful groups, in the recovered log."""
    end = store.log.end
    count = ledger.count_below(end)
    assert count >= ledger.durable, (
        f"lost: the log ends at {end}, but {ledger.timeline[ledger.durable - 1]} was safe"
    )
    kept = ledger.timeline[:count]
    if (count and end != kept[-1].end) or (not count and end):
        assert count == len(ledger.timeline), f"{end} is inside {ledger.timeline[count]}"
        kept += _doubtful(store.log.segments, ledger, end)
    assert end == (kept[-1].end if kept else 0), f"the log ends at {end} behind {kept[-1:]}"
    return kept


def _doubtful(segments: Segments, ledger: Ledger, end: int) -> Sequence[Message]:
    """The first messages of an unaccepted group, if the log ends with them."""
    for group in ledger.doubtful:
        for count, message in enumerate(group, 1):
            if message.end == end:
                part = group[:count]
                if all(_bytes(segments, each) == each.data for each in part):
                    return part
    raise AssertionError(f"the log ends at {end} with something that was never put there")


def audit(store: Store, ledger: Ledger, *, is_fresh: bool) -> None:
    """Assert that store and ledger agree. `is_fresh`: nothing was written since recovery."""
    assert store.dispatch_behind == 0
    assert store.log.start <= ledger.deleted_below, "a file was deleted without being asked for"
    kept = [message for message in ledger.timeline if message.position >= store.log.start]
    _audit_log(store, kept, is_fresh=is_fresh)
    _audit_queues(store, ledger)
    if store.settings.message_index_enable and not store.index.is_broken:
        _audit_keys(store, kept, ledger.deleted_below)


def _audit_log(store: Store, kept: Sequence[Message], *, is_fresh: bool) -> None:
    segments = store.log.segments
    for message in kept:
        assert _bytes(segments, message) == message.data, f"{message} is not what was sent"
    for before, message in pairwise(kept):
        if message.position != before.end:
            start, left = segments.start_of(message.position), message.position - before.end
            assert message.position == start, f"a hole before {message}"
            blank = segments.read(before.end, BLANK_BYTES)
            assert blank == encode_blank(left), f"no blank behind {before}"
    assert store.log.end == (kept[-1].end if kept else store.log.start) or not kept
    if is_fresh:
        end = store.log.end
        while end < segments.past:
            rest = segments.read(end, segments.file_bytes)
            assert not any(rest), f"something lies behind the log's end, {store.log.end}"
            end += len(rest)


def _bytes(segments: Segments, message: Message) -> bytes:
    if not segments.first <= message.position < segments.past:
        return b""
    return segments.read(message.position, len(message.data))


def _audit_queues(store: Store, ledger: Ledger) -> None:
    expected = ledger.by_queue()
    for queue in store.queues.queues():
        messages = expected.pop((queue.topic, queue.queue_id), [])
        _audit_queue(queue, messages, store.log.start, ledger.deleted_below)
    assert not expected, f"these queues are missing: {list(expected)}"


def _audit_queue(
    queue: ConsumeQueue, messages: Sequence[Message], log_start: int, deleted_below: int
) -> None:
    name = f"{queue.topic}/{queue.queue_id}"
    assert queue.end == len(messages), f"{name} ends at {queue.end}, not {len(messages)}"
    minimum = int(queue.minimum)
    lost = [message for message in messages[:minimum] if message.position >= deleted_below]
    assert not lost, f"{name} begins at {minimum}, behind {lost[0]}"
    stale = [message for message in messages[minimum:] if message.position < log_start]
    assert not stale, f"{name} begins at {minimum}, but the log lost {stale[-1]}"
    units = b""
    while (at := minimum + len(units) // UNIT_BYTES) < queue.end:
        piece = run(queue_units(queue, at, queue.end - at))
        assert piece, f"{name} has no unit {at}"
        units += piece
    for offset, message in enumerate(messages[minimum:], minimum):
        at = (offset - minimum) * UNIT_BYTES
        assert message.record.queue_offset == offset, f"{message} stands at {offset}"
        assert units[at : at + UNIT_BYTES] == message.unit, f"{name}: another unit for {message}"


def _audit_keys(store: Store, kept: Sequence[Message], deleted_below: int) -> None:
    """Assert that every key finds its messages and no others."""
    positions: dict[int, list[Message]] = defaultdict(list)
    known: dict[int, set[int]] = {}
    for message in kept:
        for key in message.keys:
            positions[store.index.key_hash(message.sent[0], key.encode())].append(message)
    for key_hash, messages in positions.items():
        query = KeyQuery(key_hash, ENTRIES_MAX, 0, POSITION_MAX)
        known[key_hash] = set(find_offsets(store.index, query))
        for message in messages:
            is_there = message.position in known[key_hash] or message.position < deleted_below
            assert is_there, f"a key of {message} is not found"
    for key_hash, offsets in known.items():
        right = {message.position for message in positions[key_hash]}
        wrong = {offset for offset in offsets - right if offset >= store.log.start}
        assert not wrong, f"the index names {wrong}, where no such key is"
