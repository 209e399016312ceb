"""Fills the generated blocks of the pages in docs/formats/.

A page is written by hand, but for its blocks:

    <!-- made by `make docs`: record.layout -->
    a table, or an example in a code block
    <!-- end of record.layout -->

Invariant: each block stands on exactly one page, and each page that names a block has its current
text; a test in tests/tidy checks both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from gantrymq.broker.core.messages import File
from tools.formats import config_files, log_files, member_files, queue_files, start_files
from tools.formats.checked_file import HEAD
from tools.formats.layout import Part

FOLDER: Final = Path(__file__).resolve().parent.parent.parent / "docs" / "formats"

_BLOCK: Final = re.compile(
    r"(<!-- made by `make docs`: (?P<name>[\w.-]+) -->\n).*?(<!-- end of (?P=name) -->\n)",
    re.DOTALL,
)

_LAYOUTS: Final[dict[str, Part]] = {
    "record": log_files.RECORD,
    "blank-record": log_files.BLANK,
    "host": log_files.HOST,
    "unit": queue_files.UNIT,
    "index-header": queue_files.INDEX_HEADER,
    "index-slot": queue_files.INDEX_SLOT,
    "index-entry": queue_files.INDEX_ENTRY,
    "checkpoint": start_files.CHECKPOINT,
    "checkpoint-slot": start_files.CHECKPOINT_SLOT,
    "head": HEAD,
    "marks": start_files.MARKS,
    "snapshot-stamp": queue_files.STAMP,
    "snapshot-topic": queue_files.SNAPSHOT_TOPIC,
    "snapshot-queue": queue_files.SNAPSHOT_QUEUE,
    "sessions-head": start_files.SESSIONS_HEAD,
    "session": start_files.SESSION,
    "deleted": start_files.DELETED,
    "replaced-head": queue_files.NOTE_HEAD,
    "replaced": queue_files.NOTE,
    "cut": start_files.CUT,
    "epoch": member_files.EPOCH,
}

_DUMPS: Final[dict[str, Callable[[], Sequence[str]]]] = {
    "record": log_files.record_example,
    "end-of-file": log_files.end_example,
    "record-v2": log_files.version_2_example,
    "record-crc": log_files.crc_example,
    "unit": queue_files.unit_example,
    "blank-unit": queue_files.blank_unit_example,
    "index": queue_files.index_example,
    "checkpoint": start_files.checkpoint_example,
    "marks": start_files.marks_example,
    "snapshot": queue_files.snapshot_example,
    "sessions": start_files.sessions_example,
    "deleted": start_files.deleted_example,
    "replaced": queue_files.replaced_example,
    "cut": start_files.cut_example,
    "epochs": member_files.epochs_example,
    "member": member_files.member_example,
    "identity": member_files.identity_example,
    "lease": member_files.lease_example,
    "lease-name": member_files.lease_name_example,
    "decision": member_files.decision_example,
    "users": config_files.users_example,
    "accounts": config_files.accounts_example,
    "overrides": config_files.overrides_example,
    "kv": config_files.kv_example,
    "audit": config_files.audit_example,
    "topics": partial(config_files.saved, File.TOPICS),
    "groups": partial(config_files.saved, File.GROUPS),
    "offsets": partial(config_files.saved, File.OFFSETS),
    "delays": partial(config_files.saved, File.DELAYS),
    "filters": partial(config_files.saved, File.FILTERS),
    "timers": partial(config_files.saved, File.TIMERS),
    "modes": partial(config_files.saved, File.MODES),
    "pops": partial(config_files.saved, File.POPS),
    "missing": partial(config_files.saved, File.MISSING),
    "quotas": partial(config_files.saved, File.QUOTAS),
}

NAMES: Final = frozenset(
    {*(f"{name}.layout" for name in _LAYOUTS), *(f"{name}.example" for name in _DUMPS)}
)


def block(name: str) -> str:
    """The text of a block; KeyError where there is none of this name."""
    subject, _, kind = name.rpartition(".")
    if kind == "layout":
        return "\n".join(["", *_LAYOUTS[subject].table(), "", ""])
    return "\n".join(["", "```text", *_DUMPS[subject](), "```", "", ""])


def names_in(text: str) -> list[str]:
    """The blocks that stand on a page."""
    return [found["name"] for found in _BLOCK.finditer(text)]


def filled(text: str) -> str:
    """The page with the current text of its blocks."""
    return _BLOCK.sub(lambda found: found[1] + block(found["name"]) + found[3], text)
