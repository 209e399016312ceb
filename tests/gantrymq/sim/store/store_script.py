"""Generates the script of one history from a seed: lives, their steps and their ends.

A script is plain data, so that it can be printed, and reduced to the part that fails. Every life
has its own settings where a directory allows that: flush mode, intervals, retention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from random import Random
from typing import Final, TypeAlias

from gantrymq.base.disk import DiskFailure
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.testing.faulty_disk import Faults

LOG_FILE_BYTES: Final = 4096
QUEUE_FILE_UNITS: Final = 4

TOPICS: Final = ("Orders", "%RETRY%group", "SCHEDULE_TOPIC_XXXX")
QUEUES_A_TOPIC: Final = 2

QUIET: Final = Faults()

# The share of histories in which topics are deleted.
DELETIONS: Final = 0.4

# The weights of puts, completions, waits, settling, pulls, deletions and faults.
STYLES: Final = (
    (38, 22, 16, 4, 8, 3, 9),
    (30, 30, 30, 10, 0, 0, 0),
    (40, 10, 25, 25, 5, 30, 0),
    (60, 30, 0, 0, 10, 0, 0),
    (30, 20, 20, 0, 5, 5, 20),
)

LOSSES: Final = (
    "gantry",
    "index",
    "consumequeue",
    "consumequeue/Orders/0",
    "consumequeue/Orders/1",
)


class Kind(Enum):
    """The kind of a message; the numbers are Java's transaction flags."""

    PLAIN = 0
    PREPARED = 4
    COMMITTED = 8
    ROLLED_BACK = 12


@dataclass(frozen=True, slots=True)
class Sending:
    """A put of one message, or of a batch of `count` messages."""

    topic: str
    queue_id: int
    body_bytes: int
    kind: Kind = Kind.PLAIN
    keys: str = ""
    tags: str = ""
    delay: int = 0
    count: int = 1
    waits: bool = True


@dataclass(frozen=True, slots=True)
class Put:
    """A turn with these puts."""

    sendings: tuple[Sending, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Time passes, then there is a turn."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Finish:
    """The device completes some of its jobs in any order, or all of them."""

    everything: bool


@dataclass(frozen=True, slots=True)
class Settle:
    """Turns without new puts until nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Pull:
    """A consumer pulls from this distance before the queue's end."""

    topic: str
    queue_id: int
    behind: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Retention may delete old files of the log."""


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """A topic is deleted; a later put creates it again."""

    topic: str


@dataclass(frozen=True, slots=True)
class Fill:
    """The disk has only this many free bytes from now on; None: no limit."""

    free_bytes: int | None


@dataclass(frozen=True, slots=True)
class Fail:
    """The disk refuses the next call of this kind."""

    operation: str
    failure: DiskFailure


@dataclass(frozen=True, slots=True)
class Cool:
    """The page cache is dropped."""


@dataclass(frozen=True, slots=True)
class SetClock:
    """An administrator sets the wall clock."""

    by_ms: int


Step: TypeAlias = (
    Put | Wait | Finish | Settle | Pull | Delete | DeleteTopic | Fill | Fail | Cool | SetClock
)


class Ending(Enum):
    """How a life ends, unless a power cut or a failed sync comes first."""

    POWER_CUT = "power cut"
    KILL = "kill"
    CLOSE = "clean stop"


@dataclass(frozen=True, slots=True)
class Life:
    """One life from a start to an end. The cuts count operations of the disk; 0: no cut."""

    settings: StoreSettings
    ending: Ending
    steps: tuple[Step, ...] = ()
    lost: str = ""
    """A folder that the test removes before the life: recovery rebuilds it from the log."""
    open_cut: int = 0
    step_cut: int = 0
    close_cut: int = 0
    open_faults: Faults = QUIET
    step_faults: Faults = QUIET


@dataclass(frozen=True, slots=True)
class Script:
    """A history; `seed` decides what the disk does to it."""

    seed: int
    lives: tuple[Life, ...] = field(default=())


def script_of(seed: int) -> Script:
    """Generate the script of this seed."""
    random = Random(seed)
    lives = [_life(random) for _ in range(random.choice((1, 2, 2, 3, 4)))]
    if random.random() < DELETIONS:
        lives = [_with_deletions(random, life) for life in lives]
    return Script(seed, tuple(lives))


def _with_deletions(random: Random, life: Life) -> Life:
    steps = list(life.steps)
    for _ in range(random.choice((0, 1, 1, 2)) if steps else 0):
        steps.insert(random.randrange(len(steps) + 1), DeleteTopic(random.choice(TOPICS)))
    return replace(life, steps=tuple(steps))


def _life(random: Random) -> Life:
    ending = random.choice((Ending.POWER_CUT, Ending.POWER_CUT, Ending.KILL, Ending.CLOSE))
    is_faulty = random.random() < 0.15
    count = random.choice((0, 3, 6, 12, 20))
    style = random.choice(STYLES)
    return Life(
        settings_of(random),
        ending,
        tuple(_step(random, style) for _ in range(count)),
        lost=random.choice(LOSSES) if random.random() < 0.1 else "",
        open_cut=random.randint(1, 25) if random.random() < 0.25 else 0,
        step_cut=random.randint(1, 80) if random.random() < 0.4 else 0,
        close_cut=random.randint(1, 25) if random.random() < 0.3 else 0,
        open_faults=_faults(random) if random.random() < 0.05 else QUIET,
        step_faults=_faults(random) if is_faulty else QUIET,
    )


def settings_of(random: Random) -> StoreSettings:
    """The settings of one life; the file sizes are the same in every life."""
    is_sync = random.random() < 0.5
    return StoreSettings(
        mapped_file_size_commit_log=LOG_FILE_BYTES,
        mapped_file_size_consume_queue=QUEUE_FILE_UNITS * 20,
        max_hash_slot_num=5,
        max_index_num=8,
        flush_disk_type=FlushDiskType.SYNC_FLUSH if is_sync else FlushDiskType.ASYNC_FLUSH,
        flush_interval_commit_log=random.choice((1, 100, 500)),
        flush_commit_log_least_pages=random.choice((0, 1, 4)),
        flush_commit_log_thorough_interval=random.choice((1, 500, 10_000)),
        flush_interval_consume_queue=random.choice((1, 100, 1000)),
        flush_consume_queue_least_pages=random.choice((0, 0, 2)),
        flush_consume_queue_thorough_interval=random.choice((1, 500, 60_000)),
        check_crc_on_recover=random.random() < 0.7,
        sync_flush_timeout=random.choice((1, 1000, 5000)),
        file_reserved_time=random.choice((0, 0, 72)),
        clean_resource_interval=random.choice((100, 10_000)),
        delete_commit_log_files_interval=random.choice((0, 100)),
        delete_consume_queue_files_interval=random.choice((0, 100)),
        disk_space_warning_level_ratio=random.choice((90, 100)),
    )


def _faults(random: Random) -> Faults:
    return Faults(
        no_space=random.choice((0, 20, 100)),
        write_error=random.choice((0, 20, 100)),
        read_error=random.choice((0, 0, 20)),
        sync_error=random.choice((0, 0, 10)),
    )


def _step(random: Random, style: Sequence[int]) -> Step:
    kind = random.choices(("put", "finish", "wait", "settle", "pull", "delete", "mishap"), style)
    match kind[0]:
        case "put":
            count = random.choice((1, 1, 2, 4))
            return Put(tuple(_sending(random) for _ in range(count)))
        case "finish":
            return Finish(everything=random.random() < 0.6)
        case "wait":
            return Wait(random.choice((0.001, 0.02, 0.6, 1.1, 5.0, 61.0, 61.0)))
        case "settle":
            return Settle()
        case "pull":
            behind = random.randrange(6)
            return Pull(random.choice(TOPICS), random.randrange(QUEUES_A_TOPIC), behind)
        case "delete":
            return Delete()
    return _mishap(random)


def _mishap(random: Random) -> Step:
    chance = random.random()
    if chance < 0.4:
        return Fill(random.choice((None, None, 0, 4096, 8192, 20_000)))
    if chance < 0.7:
        operation = random.choice(
            ("write", "write", "allocate", "create", "resize", "remove", "sync_folder", "sync")
        )
        return Fail(operation, random.choice((DiskFailure.NO_SPACE, DiskFailure.BROKEN)))
    if chance < 0.85:
        return Cool()
    return SetClock(random.choice((-3_600_000, -50, 50, 86_400_000)))


def _sending(random: Random) -> Sending:
    kind = Kind.PLAIN
    if random.random() < 0.2:
        kind = random.choice((Kind.PREPARED, Kind.COMMITTED, Kind.ROLLED_BACK))
    topic = random.choice(TOPICS)
    return Sending(
        topic,
        random.randrange(QUEUES_A_TOPIC),
        random.choice((20, 20, 100, 100, 300, 900, 1900, 3700)),
        kind,
        keys=random.choice(("", "a", "a b", "b c d")),
        tags=random.choice(("", "TagA")),
        delay=random.randrange(4),
        count=1 if random.random() < 0.8 else random.randint(2, 4),
        waits=random.random() < 0.8,
    )
