"""Tests that the judges of the failover cycles find planted faults.

The faults are a lost message, an offset given twice, logs that differ, and a role that does not
move.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gantrymq.cycles import judgement
from gantrymq.cycles.clients.audit import compare, end_of
from gantrymq.cycles.clients.ledger import Ledger, Places, identity
from gantrymq.cycles.clients.load import CONSUMERS, STREAMS
from gantrymq.cycles.gaps import SECOND_NS, longest_seconds, rate_before
from gantrymq.cycles.hosts.faults import FAULTS, Kind
from gantrymq.cycles.outcome import Cycle
from gantrymq.cycles.plan import FORMS, forms_of, rounds
from gantrymq.cycles.records import LAYOUT, RecordReader, RecordWriter, Status

QUEUES = 2


def cycle(kind: Kind, gap: float = 0.1, moved: float | None = None, rate: int = 2500) -> Cycle:
    gaps = dict.fromkeys(STREAMS, gap)
    return Cycle(1, kind.name, 1.0, rate, moved, gap, gaps, {}, {}, 5.0)


# ------------------------------------------------------------------ the ledger


def test_a_message_that_is_not_where_it_was_said_to_be_is_missing() -> None:
    ledger, stored = Ledger(QUEUES, CONSUMERS), Places(QUEUES)
    for offset, number in enumerate((7, 8, 9)):
        ledger.acknowledge(1, offset, identity(3, number))
    stored.put(1, 0, identity(3, 7))
    stored.put(1, 1, identity(3, 9))
    assert list(ledger.acknowledged.missing(stored)) == [
        "3-8 at 1:1, where 3-9 is",
        "3-9 at 1:2, where nothing is",
    ]


def test_a_place_that_two_messages_were_promised_is_told() -> None:
    ledger = Ledger(QUEUES, CONSUMERS)
    ledger.acknowledge(0, 5, identity(1, 1))
    ledger.acknowledge(0, 5, identity(2, 1))
    assert ledger.doubles == ["1-1 and 2-1 at 0:5"]


def test_a_consumer_may_be_given_a_message_again_and_no_other_one_in_its_place() -> None:
    ledger = Ledger(QUEUES, CONSUMERS)
    for number in (1, 1, 2):
        ledger.give("java-push", 0, 0, identity(1, number))
    assert ledger.doubles == ["java-push was given 1-1 and 1-2 at 0:0"]


# ------------------------------------------------------------------ logs


def log(folder: Path, name: str, *records: bytes, size: int = 64) -> Path:
    folder.mkdir(exist_ok=True)
    data = b"".join(struct.pack(">i", 4 + len(each)) + each for each in records)
    (folder / name).write_bytes(data.ljust(size, b"\0"))
    return folder


def test_logs_are_the_same_up_to_their_common_end(tmp_path: Path) -> None:
    one = log(tmp_path / "1", "00", b"a" * 60)
    log(one, "64", b"b")
    log(one, "128")  # made ahead
    other = log(tmp_path / "2", "64", b"b")  # older files are gone here
    assert end_of(one) == end_of(other) == 69
    assert compare({1: one, 2: other}) == (69, [])


def test_logs_that_differ_or_end_elsewhere_are_told(tmp_path: Path) -> None:
    one = log(tmp_path / "1", "0", b"a", b"b")
    other = log(tmp_path / "2", "0", b"a", b"c")
    longer = log(tmp_path / "3", "0", b"a", b"b", b"d")
    assert compare({1: one, 2: other})[1] == ["the logs of 1 and 2 differ in the file at 0"]
    [told] = compare({1: one, 3: longer})[1]
    assert told == "all follow and no client sends, yet the logs end at {1: 10, 3: 15}"


# ------------------------------------------------------------------ figures


def test_the_longest_time_without_a_message_may_be_at_either_border() -> None:
    times = [each * SECOND_NS for each in (1, 12, 13, 16)]
    assert longest_seconds(times, 10 * SECOND_NS, 17 * SECOND_NS) == 3
    assert longest_seconds(times, 10 * SECOND_NS, 20 * SECOND_NS) == 4
    assert longest_seconds([], 10 * SECOND_NS, 20 * SECOND_NS) == 10
    assert rate_before(times, 13 * SECOND_NS) == 1


def test_records_come_whole_however_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "some.records"
    reader, writer = RecordReader(path), RecordWriter(path)
    writer.add(Status.SEND_OK, 3, 7, 11, 13)
    writer.close()
    with path.open("ab") as file:
        file.write(LAYOUT.pack(5, 9, 1, 0, 2, -1)[:10])
    [record] = reader.take()
    assert record[1:] == (Status.SEND_OK, 3, 7, 11, 13)
    with path.open("ab") as file:
        file.write(LAYOUT.pack(5, 9, 1, 0, 2, -1)[10:])
    assert [each.number for each in reader.take()] == [2]


def test_bounds_are_by_kind_of_fault() -> None:
    good = [
        cycle(Kind.MASTER_KILLED, 2.9, 0.5),
        cycle(Kind.MASTER_CUT, 14.0, 4.0),
        cycle(Kind.SWITCHED, 0.4, 0.2),
        cycle(Kind.FOLLOWER_CUT, 2.4),
    ]
    assert list(judgement.misses(good)) == []
    bad = [
        cycle(Kind.MASTER_KILLED, 3.1, 0.5),
        cycle(Kind.MASTER_CUT, 15.5, 4.0),
        cycle(Kind.SWITCHED, 1.1),
        cycle(Kind.FOLLOWER_CUT, 2.6, 1.0, rate=1999),
        cycle(Kind.LEASE_PARTED, 2.6),
        cycle(Kind.MASTER_FULL, 35.5, 4.0),
    ]
    assert [each.split(":")[0] for each in judgement.misses(bad)] == [
        "process death, p50",
        "node loss",
        "follower lost",
        "lease store away",
        "full disk",
        "switchover, stop in order",
        "follower lost, each producer",
        "other faults, consumers",
        "the role moved in 3 of 4 faults of a master",
        "cycle 1, follower cut off",
        "1 of 6 faults struck below 2000 acknowledged/s; the lowest 1999",
    ]


@pytest.mark.parametrize("kind", [Kind.MASTER_KILLED, Kind.POD_KILLED])
@pytest.mark.parametrize(
    ("name", "gaps", "missed"),
    [
        ("java-push", (32.6, 1.0, 1.0, 1.0, 1.0), []),
        ("java-push", (32.6, 32.6, 1.0, 1.0, 1.0), ["process death, Java's consumer"]),
        ("java-push", (35.1, 1.0, 1.0, 1.0, 1.0), ["process death, consumers"]),
        ("python-push", (8.1, 1.0, 1.0, 1.0, 1.0), ["process death, our consumer"]),
    ],
)
def test_a_consumer_of_java_may_lose_its_pulls_with_a_process(
    kind: Kind, name: str, gaps: tuple[float, ...], missed: list[str]
) -> None:
    cycles = [cycle(kind, moved=0.5) for _ in gaps]
    for each, gap in zip(cycles, gaps, strict=True):
        each.gaps[name] = gap
    assert [each.split(":")[0] for each in judgement.misses(cycles)] == missed


def test_the_table_has_a_line_for_each_kind() -> None:
    lines = judgement.table([cycle(Kind.SWITCHED, 0.25), cycle(Kind.SWITCHED, 0.75, 0.1)])
    assert len(lines) == 2
    assert lines[1].split()[:7] == ["switchover", "2", "1", "2500", "0.75", "0.75", "0.75"]


# ------------------------------------------------------------------ the plan


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ten_have_every_kind_and_a_seed_tells_which(seed: int) -> None:
    plan = list(rounds(100, seed))
    assert plan == list(rounds(100, seed))
    assert [each.number for steps in plan for each in steps] == list(range(1, 101))
    for steps in plan:
        kinds = {each.kind for each in steps}
        assert all(kinds & set(forms) for forms in FORMS)
    assert {each.kind for steps in plan for each in steps} == set(FAULTS)
    assert [len(steps) for steps in rounds(12, seed)] == [10, 2]


def test_a_plan_of_named_kinds_has_these_alone() -> None:
    steps = [each for some in rounds(10, 1, forms_of("switched, master_cut")) for each in some]
    kinds = [each.kind for each in steps]
    assert kinds.count(Kind.SWITCHED) == kinds.count(Kind.MASTER_CUT) == 5
    assert forms_of("") == FORMS
    with pytest.raises(ValueError, match="there are MASTER_KILLED"):
        forms_of("moon")
