"""Decides whether a log without any file is new, or missing, for offline tools.

A store without messages has none of the witnesses below. If there is one, the log's disk is not
mounted or its files are lost, and the check must not judge what is derived from the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gantrymq.base.disk import Disk
from gantrymq.store.files.checkpoint import Checkpoint
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.layout import COMMIT_LOG, CONSUME_QUEUE
from gantrymq.store.offline.index_inspection import IndexHead
from gantrymq.store.offline.store_sizes import queue_folders


def missing_log(disk: Disk, link: str, witnesses: Sequence[str]) -> str:
    """What is wrong about a log without files; "" if nothing is. `link` is the target of the link
    that the log's folder is, if the target does not exist."""
    if link:
        text = f"is a link to {link}, and nothing is there"
    elif not witnesses:
        return ""
    elif any(each.name == COMMIT_LOG for each in disk.list("")):
        text = "has no file of the log"
    else:
        text = "is not there"
    return f"{text}, but messages are known to {', '.join(witnesses)}" if witnesses else text


def witnesses(
    disk: Disk, heads: Sequence[IndexHead], saved: Checkpoint, mark: LogPosition
) -> Iterator[str]:
    """The parts of the store that know of messages, as texts."""
    folders = (f"{CONSUME_QUEUE}/{topic}/{queue}" for topic, queue in queue_folders(disk))
    queues = sum(any(each.size for each in disk.list(folder)) for folder in folders)
    entered = sum(head.count > 1 for head in heads)
    if queues:
        yield f"the queues ({queues})"
    if entered:
        yield f"the index ({entered})"
    if saved.log_ms:
        yield "the checkpoint"
    if mark.position > 0:
        yield "the flush positions"
