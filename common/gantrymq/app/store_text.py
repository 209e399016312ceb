"""Formats the output of the store tool: as a value for JSON, and as lines of text.

Texts from a store are not trusted: control characters are printed as escapes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

from gantrymq.base.errors import RemoteError
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.offline.census import Census, Figures
from gantrymq.store.offline.finding import Finding, Findings
from gantrymq.store.offline.index_inspection import IndexHead
from gantrymq.store.offline.inspection import Inspection
from gantrymq.store.offline.log_reader import Break
from gantrymq.store.offline.repair_plan import Action, RepairPlan, RepairStep
from gantrymq.store.offline.tail_reading import TailSeen
from gantrymq.wire import hosts, java_string
from gantrymq.wire.message import compression, properties, property_names
from gantrymq.wire.message.record import Record

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | dict[str, Json] | None"

SHOWN_OF_A_KIND: Final = 5
PREVIEW_BYTES: Final = 40
COUNTED: Final = frozenset({Action.EXTEND, Action.CUT, Action.CUT_QUEUES})
BODY_BYTES_MAX: Final = 64 << 20  # a body that inflates to more is shown compressed

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


def moment(store_ms: int) -> str:
    """A store time, in UTC."""
    try:
        return datetime.fromtimestamp(store_ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError):
        return f"{store_ms} ms"


def amount(size: float) -> str:
    """A number of bytes in a readable unit."""
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {_UNITS[-1]}"


def printable(text: str) -> str:
    return "".join([each if each.isprintable() else f"\\x{ord(each):02x}" for each in text])


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns that are as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


# ---------------------------------------------------------------------- check


def check_lines(seen: Inspection) -> Iterator[str]:
    log, files = seen.log, len(seen.row.files)
    times = f"{moment(log.first_ms)} to {moment(log.last_ms)}" if log.records else "no messages"
    size = f"{amount(log.bytes)}, {files} files of {amount(seen.sizes.log_bytes)}"
    yield from table(
        [
            ["log", f"{seen.row.first} to {log.end}: {log.records} messages, {size}"],
            ["time", times],
            ["queues", f"{seen.queues.count}, with {seen.queues.units} units of these messages"],
            ["index", f"{len(seen.index.heads)} files, {seen.index.entries} entries"],
            *(["size", reason] for reason in seen.sizes.reasons),
        ]
    )
    yield ""
    yield from finding_lines(seen.findings)
    yield "sound" if seen.findings.is_sound else "not sound"


def finding_lines(findings: Findings) -> Iterator[str]:
    kept = findings.kept()
    for (severity, kind), count in findings.counts().items():
        yield f"{severity.name}  {kind.title}: {count}"
        found = [each for each in kept if (each.severity, each.kind) == (severity, kind)]
        for each in found[:SHOWN_OF_A_KIND]:
            at = "" if each.position is None else f" [{each.position}]"
            yield f"    {printable(each.place)}{at}: {printable(each.text)}"
        if count > SHOWN_OF_A_KIND:
            yield f"    and {count - SHOWN_OF_A_KIND} more"
        yield f"    -> {kind.todo}"


def check_json(seen: Inspection) -> Json:
    log = seen.log
    return {
        "sound": seen.findings.is_sound,
        "log": {
            "start": seen.row.first,
            "end": log.end,
            "messages": log.records,
            "bytes": log.bytes,
            "files": len(seen.row.files),
            "firstStoreTimestamp": log.first_ms,
            "lastStoreTimestamp": log.last_ms,
        },
        "queues": {"count": seen.queues.count, "units": seen.queues.units},
        "index": {"files": len(seen.index.heads), "entries": seen.index.entries},
        "sizes": {**seen.sizes.settings(), "reasons": seen.sizes.reasons},
        "counts": [
            {"severity": severity.name, "kind": kind.title, "count": count, "todo": kind.todo}
            for (severity, kind), count in seen.findings.counts().items()
        ],
        "findings": [_finding_json(each) for each in seen.findings.kept()],
    }


def _finding_json(finding: Finding) -> Json:
    return {
        "severity": finding.severity.name,
        "kind": finding.kind.title,
        "place": finding.place,
        "position": finding.position,
        "text": finding.text,
    }


# ---------------------------------------------------------------------- repair


def plan_lines(plan: RepairPlan) -> Iterator[str]:
    for number, step in enumerate(plan.steps, 1):
        yield f"{number:3}. {printable(_step_text(step))}"
        yield f"     because {printable(step.reason)}"
    for text in plan.left:
        yield f"left as it is: {printable(text)}"


def _step_text(step: RepairStep) -> str:
    tail = f" {step.amount}" if step.action in COUNTED else ""
    return f"{step.path}: {step.action.value}{tail}"


def plan_json(plan: RepairPlan) -> Json:
    return {
        "steps": [
            {
                "action": step.action.value,
                "path": step.path,
                "amount": step.amount,
                "reason": step.reason,
            }
            for step in plan.steps
        ],
        "left": plan.left,
    }


# ---------------------------------------------------------------------- stats


def stats_lines(
    census: Census, heads: Sequence[IndexHead], sizes: IndexSizes, tails: Sequence[TailSeen]
) -> Iterator[str]:
    rows = [["topic", "queue", "messages", "bytes", "mean", "largest", "per second", "from", "to"]]
    for topic, figures in sorted(census.topics().items()):
        rows.append([printable(topic), "all", *_cells(figures)])
        queues = sorted((key[1], value) for key, value in census.queues.items() if key[0] == topic)
        rows += [["", str(queue_id), *_cells(figures)] for queue_id, figures in queues]
    rows.append(["all", "all", *_cells(census.total)])
    yield from table(rows)
    for head in heads:
        full = (head.count - 1) / (sizes.entries - 1)
        used = head.used_slots / sizes.slots
        yield f"{head.path}: {head.count - 1} entries, {full:.1%} full, {used:.1%} of its slots"
    for each in tails:
        yield _tail_line(each)


def _tail_line(seen: TailSeen) -> str:
    tail, damaged = seen.tail, "" if seen.is_whole else "; damaged since"
    return (
        f"{tail.path}: {seen.figures.messages} messages, {amount(tail.size)}, cut from the log at"
        f" {tail.start} for epoch {tail.epoch}, {moment(tail.kept_ms)}{damaged}"
    )


def _cells(figures: Figures) -> list[str]:
    return [
        str(figures.messages),
        amount(figures.bytes),
        str(figures.mean_bytes),
        str(figures.largest),
        f"{figures.per_second:.1f}",
        moment(figures.first_ms) if figures.messages else "-",
        moment(figures.last_ms) if figures.messages else "-",
    ]


def stats_json(
    census: Census, heads: Sequence[IndexHead], sizes: IndexSizes, tails: Sequence[TailSeen]
) -> Json:
    return {
        "total": _figures_json(census.total),
        "topics": {topic: _figures_json(each) for topic, each in census.topics().items()},
        "queues": [
            {"topic": topic, "queueId": queue_id, **_figures_json(figures)}
            for (topic, queue_id), figures in census.queues.items()
        ],
        "index": [index_json(head, sizes) for head in heads],
        "tails": [_tail_json(each) for each in tails],
    }


def _tail_json(seen: TailSeen) -> dict[str, Json]:
    tail, figures = seen.tail, seen.figures
    return {
        "file": tail.path,
        "position": tail.start,
        "end": tail.end,
        "bytes": tail.size,
        "messages": figures.messages,
        "firstStoreTimestamp": figures.first_ms,
        "lastStoreTimestamp": figures.last_ms,
        "epoch": tail.epoch,
        "keptTimestamp": tail.kept_ms,
        "whole": seen.is_whole,
    }


def _figures_json(figures: Figures) -> dict[str, Json]:
    return {
        "messages": figures.messages,
        "bytes": figures.bytes,
        "meanBytes": figures.mean_bytes,
        "largestBytes": figures.largest,
        "perSecond": round(figures.per_second, 3),
        "firstStoreTimestamp": figures.first_ms,
        "lastStoreTimestamp": figures.last_ms,
    }


def index_json(head: IndexHead, sizes: IndexSizes) -> dict[str, Json]:
    return {
        "file": head.path,
        "beginTimestamp": head.begin_ms,
        "endTimestamp": head.end_ms,
        "beginPhyOffset": head.begin_offset,
        "endPhyOffset": head.end_offset,
        "hashSlotCount": head.used_slots,
        "indexCount": head.count,
        "maxIndexNum": sizes.entries,
    }


# ---------------------------------------------------------------------- dump


def break_line(event: Break) -> str:
    reason = f", {event.reason}" if event.reason else ""
    return f"# {event.cause.value} at {event.position}, up to {event.end}{reason}"


def record_line(record: Record, *, with_body: bool) -> str:
    values = properties.parse(record.properties)
    names = (property_names.UNIQ_KEY, property_names.KEYS, property_names.TAGS)
    marks = [f"{name}={values[name]}" for name in names if name in values]
    body = plain_body(record)
    preview = body if with_body else body[:PREVIEW_BYTES]
    more = f"... {len(body)} bytes" if len(preview) < len(body) else ""
    cells = [
        f"{record.physical_offset:020d}",
        str(record.size),
        f"{java_string.utf8_text(record.topic)}/{record.queue_id}@{record.queue_offset}",
        moment(record.store_timestamp_ms),
        *marks,
        repr(preview.decode(errors="replace")) + more,
    ]
    return printable("  ".join(cells))


def record_json(record: Record, *, with_body: bool) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "position": record.physical_offset,
        "size": record.size,
        "topic": java_string.utf8_text(record.topic),
        "queueId": record.queue_id,
        "queueOffset": record.queue_offset,
        "storeTimestamp": record.store_timestamp_ms,
        "bornTimestamp": record.born_timestamp_ms,
        "bornHost": hosts.text(record.born_host),
        "storeHost": hosts.text(record.store_host),
        "sysFlag": record.sys_flag,
        "flag": record.flag,
        "reconsumeTimes": record.reconsume_times,
        "preparedTransactionOffset": record.prepared_transaction_offset,
        "properties": dict(properties.parse(record.properties)),
        "bodyBytes": len(record.body),
    }
    if with_body:
        body = plain_body(record)
        try:
            shown["body"] = body.decode()
        except UnicodeDecodeError:
            shown["bodyBase64"] = base64.b64encode(body).decode()
    return shown


def plain_body(record: Record) -> bytes:
    """The body, inflated if possible, else as stored."""
    try:
        kind = compression.of(record.sys_flag)
        return (
            record.body
            if kind is None
            else compression.decompress(kind, record.body, BODY_BYTES_MAX)
        )
    except RemoteError:
        return record.body
