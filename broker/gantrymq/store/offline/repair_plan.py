"""Plans the repair of a damaged store: a list of steps with reasons, made from a check.

Nothing is destroyed: a side folder keeps what a step removes. The order of the steps is the order
in which they are safe: first the files that a start trusts, then the log, then what is derived from
it.

    older side    the log ends before its first break
    newer side    the log begins with the first whole file behind its last break

Index and queues are rebuilt from the log, but only the queues that need it: the next offset of a
queue whose messages have all expired is only known from its own files.

If the log or its newest files are missing, their disk may just not be mounted: nothing is planned
until the user gives them up. The older side is then what is left of the log, even if that is
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final, final

from gantrymq.store.layout import COMMIT_LOG
from gantrymq.store.offline.finding import Kind, Severity
from gantrymq.store.offline.inspection import Inspection
from gantrymq.store.offline.log_reader import Break, Cause

HOLES: Final = frozenset({Cause.DAMAGE, Cause.MISSING})


class Side(StrEnum):
    """Which part of an interrupted log is kept."""

    OLDER = "older"
    NEWER = "newer"


class Action(Enum):
    """What a step does; `amount` is a size, or an offset in the file."""

    MOVE = "move aside"
    EXTEND = "extend with zeros to"
    CUT = "move aside what lies from"
    CUT_QUEUES = "take away the units of records from"
    REBUILD_QUEUE = "rebuild from the log"
    REBUILD_INDEX = "rebuild all from the log"


@final
@dataclass(frozen=True, slots=True)
class RepairStep:
    """One step, and the reason for it. `path` is a file, a folder, or a queue's folder."""

    action: Action
    path: str
    reason: str
    amount: int = 0
    queue: tuple[str, int] | None = None


@final
@dataclass(frozen=True, slots=True)
class RepairOptions:
    """What the user wants beyond what is safe in any case."""

    keep: Side | None = None
    rebuild_queues: bool = False
    rebuild_index: bool = False


@final
@dataclass(frozen=True, slots=True)
class RepairPlan:
    """The steps, and texts about what is left as it is. `log_end` is the log's end after the steps.
    `begun_anew` has the positions of some queues' first records, whose topics were created
    again."""

    steps: tuple[RepairStep, ...]
    left: tuple[str, ...]
    log_end: int
    begun_anew: Mapping[tuple[str, int], int] = field(default_factory=dict)


def make_plan(seen: Inspection, options: RepairOptions) -> RepairPlan:
    """Make a plan from a check that has been run to its end."""
    if seen.missing and options.keep is not Side.OLDER:
        todo = "mount its disk, or restore it; --keep older gives up the missing part"
        return RepairPlan((), (f"{COMMIT_LOG} {seen.missing}: {todo}",), seen.row.past)
    if seen.missing and not seen.row.files:
        return _empty_log(seen)
    left: list[str] = []
    end = seen.breaks[-1].position if seen.breaks else seen.row.past
    log_steps = [*_foreign(seen), *_log(seen, options, left)]
    holes = [each for each in seen.breaks if each.cause in HOLES]
    if holes and options.keep is Side.OLDER:
        end = holes[0].position
    steps = [*log_steps, *_queues(seen, options, left, end), *_index(seen, options, log_steps)]
    if steps or seen.findings.has(Kind.CHECKPOINT) or seen.findings.has(Kind.LOG_LOST):
        steps = [*_void(seen), *steps]
    return RepairPlan(tuple(steps), tuple(left), end, seen.begun_anew)


def _empty_log(seen: Inspection) -> RepairPlan:
    """Give up all messages, and what was derived from them."""
    reason = "--keep older gives up the whole log, which is missing; offsets begin at 0 again"
    moved = [RepairStep(Action.MOVE, path, reason) for path in seen.derived]
    link = f"{COMMIT_LOG} is a link to {seen.log_link}: create a folder there, or remove the link"
    left = (link,) if seen.log_link else ()
    return RepairPlan((*_void(seen), *_foreign(seen), *moved), left, 0)


def _foreign(seen: Inspection) -> Iterator[RepairStep]:
    for path in seen.row.foreign:
        yield RepairStep(Action.MOVE, path, "it is not a file of the log")


def _log(seen: Inspection, options: RepairOptions, left: list[str]) -> Iterator[RepairStep]:
    holes = [each for each in seen.breaks if each.cause in HOLES]
    if holes and options.keep is None:
        left.append(
            f"the log is interrupted at {holes[0].position}: choose --keep older or --keep newer"
        )
        return
    steps = list(_log_ends(seen, options, holes, left))
    yield from steps
    treated = {step.path for step in steps}
    length = seen.sizes.log_bytes
    for file in seen.row.files:
        if file.size < length and file.path not in treated:
            yield _extend(file.path, length)
        elif file.size > length and file.path not in treated:
            yield RepairStep(
                Action.CUT, file.path, "the file is longer than a file of the log", length
            )


def _log_ends(
    seen: Inspection, options: RepairOptions, holes: Sequence[Break], left: list[str]
) -> Iterator[RepairStep]:
    """Give up a part of the log, at its end or its start."""
    if holes and options.keep is Side.OLDER:
        yield from _cut(seen, holes[0].position, "newer than the gap, which --keep older gives up")
        return
    if holes:
        yield from _drop_older(seen, holes[-1], left)
    last = seen.breaks[-1] if seen.breaks else None
    if last is not None and last.cause is Cause.TORN:
        yield from _cut(seen, last.position, f"an incomplete record: {last.reason}")


def _cut(seen: Inspection, position: int, reason: str) -> Iterator[RepairStep]:
    """End the log here: remove later files, newest first, so that there is never a gap."""
    for file in reversed(seen.row.files):
        if file.start >= position and file is not seen.row.files[0]:
            yield RepairStep(Action.MOVE, file.path, reason)
        elif file.start + seen.sizes.log_bytes > position:
            yield RepairStep(Action.CUT, file.path, reason, max(0, position - file.start))


def _drop_older(seen: Inspection, hole: Break, left: list[str]) -> Iterator[RepairStep]:
    kept = [file for file in seen.row.files if file.start >= hole.end]
    if not kept or kept[0].start >= seen.log.end:
        left.append(
            f"no whole file of messages lies behind {hole.end}: only --keep older is possible"
        )
        return
    for file in seen.row.files:
        if file.start < kept[0].start:
            reason = f"older than {kept[0].start}, which --keep newer gives up"
            yield RepairStep(Action.MOVE, file.path, reason)


def _extend(path: str, size: int) -> RepairStep:
    return RepairStep(Action.EXTEND, path, "the file was shortened", size)


def _queues(
    seen: Inspection, options: RepairOptions, left: list[str], end: int
) -> Iterator[RepairStep]:
    queues = seen.queues
    for path in queues.short_files():
        yield _extend(path, seen.sizes.queue_bytes)
    if end < seen.log.end or seen.findings.has(Kind.UNIT_AHEAD):
        yield RepairStep(Action.CUT_QUEUES, "consumequeue", "the log ends there", end)
    moved = set()
    wanted = dict.fromkeys(queues.seen()) if options.rebuild_queues else {}
    for key in wanted | queues.damaged:
        why_not = queues.why_not_rebuilt(key, end)
        if why_not:
            left.append(f"{queues.folder(key)} is not rebuilt: {why_not}")
            continue
        reason = "it does not agree with the log" if key in queues.damaged else "--rebuild queues"
        moved.add(queues.folder(key))
        yield RepairStep(Action.REBUILD_QUEUE, queues.folder(key), reason, queue=key)
    for path in queues.foreign:
        if path.rpartition("/")[0] not in moved:
            yield RepairStep(Action.MOVE, path, "it is not a file of a queue")


def _index(
    seen: Inspection, options: RepairOptions, log_steps: list[RepairStep]
) -> Iterator[RepairStep]:
    kinds = (Kind.INDEX_FILE, Kind.INDEX_CHAIN, Kind.INDEX_WRONG, Kind.INDEX_MISSING)
    is_damaged = any(seen.findings.has(kind) for kind in kinds)
    loses_records = any(
        step.action is Action.CUT and step.amount < seen.sizes.log_bytes for step in log_steps
    )
    is_cut = bool(seen.index.heads) and loses_records
    if options.rebuild_index or is_damaged or is_cut:
        reason = "it does not agree with the log" if is_damaged else "the log was cut"
        reason = "--rebuild index" if options.rebuild_index else reason
        yield RepairStep(Action.REBUILD_INDEX, "index", reason)
        return
    for path in seen.index.foreign:
        yield RepairStep(Action.MOVE, path, "it is not a file of the index")


def _void(seen: Inspection) -> Iterator[RepairStep]:
    for path in seen.vouchers:
        yield RepairStep(Action.MOVE, path, "the next start must read the log itself")


def is_refused(seen: Inspection) -> str:
    """Why no plan can be made; "" if one can."""
    if seen.findings.has(Kind.SIZES, Severity.ERROR):
        return "the sizes of the store's files are unknown: give them by -c broker.conf or --set"
    return ""
