"""Implements `gantry store dump`: prints messages or lists of a store, one a line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from gantrymq.app import store_text
from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.base.errors import ConfigurationError
from gantrymq.store.commitlog.truncated_tails import TAILS, list_tails
from gantrymq.store.files import checkpoint
from gantrymq.store.files.flush_positions import PATH as MARKS_PATH
from gantrymq.store.layout import CHECKPOINT, COMMIT_LOG, POSITION_MAX
from gantrymq.store.offline.file_row import FileRow, read_row
from gantrymq.store.offline.finding import Findings
from gantrymq.store.offline.index_inspection import read_heads
from gantrymq.store.offline.inspection import Assumptions
from gantrymq.store.offline.log_reader import Break
from gantrymq.store.offline.queue_listing import list_queues
from gantrymq.store.offline.record_choice import RecordChoice, chosen
from gantrymq.store.offline.store_sizes import StoreSizes, detect, newest_slot
from gantrymq.store.offline.tail_reading import row_of


def lines(disk: Disk, assumptions: Assumptions, arguments: argparse.Namespace) -> Iterator[str]:
    """The lines that the arguments ask for."""
    sizes = detect(disk, assumptions.sizes, Findings())
    if arguments.queues:
        values = _queues(disk, sizes)
    elif arguments.index:
        values = _index(disk, sizes)
    elif arguments.checkpoint:
        values = _checkpoint(disk)
    else:
        yield from _records(disk, sizes, arguments)
        return
    for value in values:
        if arguments.output == "json":
            yield json.dumps(value, ensure_ascii=False)
        else:
            yield store_text.printable("  ".join(f"{key}={each}" for key, each in value.items()))


def _records(disk: Disk, sizes: StoreSizes, arguments: argparse.Namespace) -> Iterator[str]:
    choice = RecordChoice(
        arguments.first,
        POSITION_MAX if arguments.past is None else arguments.past,
        None if arguments.topic is None else arguments.topic.encode(),
        arguments.queue,
        None if arguments.key is None else arguments.key.encode(),
        arguments.limit,
    )
    row = _row(disk, sizes, arguments.tail)
    is_json = arguments.output == "json"
    for event in chosen(disk, row, choice):
        if isinstance(event, Break):
            place = {"break": event.cause.value, "position": event.position, "end": event.end}
            yield json.dumps(place) if is_json else store_text.break_line(event)
        elif is_json:
            record = store_text.record_json(event, with_body=arguments.body)
            yield json.dumps(record, ensure_ascii=False)
        else:
            yield store_text.record_line(event, with_body=arguments.body)


def _row(disk: Disk, sizes: StoreSizes, tail: str | None) -> FileRow:
    """The files of the log, or of a tail that was truncated."""
    if tail is None:
        return read_row(disk, COMMIT_LOG, sizes.log_bytes, Findings())
    kept = {each.path: each for each in list_tails(disk)}
    found = kept.get(tail) or kept.get(f"{TAILS}/{tail}")
    if found is None:
        there = ", ".join(kept) or "none"
        raise ConfigurationError(
            f"--tail {tail}: the store has no truncated tail of this name; it has: {there}"
        )
    return row_of(found, sizes.log_bytes)


def _queues(disk: Disk, sizes: StoreSizes) -> Iterator[dict[str, store_text.Json]]:
    for each in list_queues(disk, sizes.queue_bytes):
        yield {
            "topic": each.topic,
            "queueId": each.queue_id,
            "files": each.files,
            "firstOffset": each.first,
            "maxOffset": each.past,
            "lastPosition": each.last_position,
        }


def _index(disk: Disk, sizes: StoreSizes) -> Iterator[dict[str, store_text.Json]]:
    heads = read_heads(disk, sizes.index, Findings())
    return (store_text.index_json(head, sizes.index) for head in heads)


def _checkpoint(disk: Disk) -> Iterator[dict[str, store_text.Json]]:
    try:
        file = disk.open(CHECKPOINT)
    except DiskError as error:
        if error.failure is not DiskFailure.NOT_FOUND:
            raise
    else:
        found = checkpoint.decode(file.read(0, checkpoint.NUMBERS.size))
        file.close()
        yield {
            "file": CHECKPOINT,
            "physicMsgTimestamp": found.log_ms,
            "logicsMsgTimestamp": found.queues_ms,
            "indexMsgTimestamp": found.index_ms,
            "masterFlushedOffset": found.master_flushed_offset,
            "confirmPhyOffset": found.confirm_offset,
        }
    slot = newest_slot(disk)
    if slot is not None:
        log = slot.positions.log
        yield {
            "file": MARKS_PATH,
            "log": log.position,
            "recordStart": log.record_start,
            "storeTimestamp": log.store_timestamp_ms,
            "queues": slot.positions.queues,
            "index": slot.positions.index,
            "queueCount": slot.positions.queue_count,
        }
