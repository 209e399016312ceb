"""The table of groups' offsets, and its file."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.tables.offsets import COMMITS_A_VERSION, Offsets, OffsetTable
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.jsonvalue import JsonObject, object_of

VECTORS = Path(__file__).parents[3] / "vectors"


def offsets() -> Offsets:
    return Offsets(Files())


def java_file() -> str:
    """With "groupTopicMap", and with progress of broadcasting clients."""
    traffic = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    text = next(each["response"]["bodyText"] for each in traffic if each["request"]["code"] == 43)
    assert isinstance(text, str)
    return text


def table_of(content: bytes | str) -> JsonObject:
    return object_of(object_of(javajson.loads(content), "file")["offsetTable"], "table")


def test_a_java_file_loses_nothing() -> None:
    table = offsets()
    table.load(java_file().encode())
    assert table_of(table.content()) == table_of(java_file())
    assert table.find("VecGroup", "VecTopic", 0) == 81
    assert table.find("VecBroadcast@broadcast", "VecTopic", 1) == 77


def test_broadcasting_clients_are_no_group() -> None:
    table = offsets()
    table.load(java_file().encode())
    assert set(table.groups_of("VecTopic")) == {"VecLite", "VecGroup"}
    assert set(table.topics_of("VecGroup")) == {"%RETRY%VecGroup", "VecTopic"}


def test_commit_returns_the_previous_offset_and_counts_backward_commits() -> None:
    table = offsets()
    assert table.commit("g", "T", 0, 5) is None
    assert table.commit("g", "T", 0, 9) == 5
    assert table.commit("g", "T", 0, 7) == 9
    assert table.find("g", "T", 0) == 7
    assert table.backward_commits == 1


def test_commits_wait_for_their_time_and_repeated_ones_touch_nothing() -> None:
    files = Files()
    table = Offsets(files)
    table.commit("g", "T", 0, 5, due=5.0)
    assert files.deadline() == 5.0
    assert [save.file for save in files.take_due(5.0)] == [File.OFFSETS]
    files.written(File.OFFSETS, None)
    table.commit("g", "T", 0, 5, due=6.0)
    assert files.deadline() == float("inf")


def test_a_version_is_made_of_many_commits() -> None:
    table = offsets()
    for offset in range(COMMITS_A_VERSION):
        assert table.data_version.counter == 0
        table.commit("g", "T", 0, offset)
    assert table.data_version.counter == 1


def test_pulled_offset_is_kept_for_groups_with_offsets() -> None:
    table = offsets()
    table.note_pull("g", "T", 0, 9)
    assert table.pulled("g", "T", 0) is None
    table.commit("g", "T", 0, 5)
    table.note_pull("g", "T", 0, 9)
    assert table.pulled("g", "T", 0) == 9
    table.remove(topic="T")
    assert table.pulled("g", "T", 0) is None


def test_only_queues_without_an_offset_are_filled() -> None:
    table = offsets()
    table.commit("G", "T", 0, 5)
    theirs = OffsetTable(DataVersion(), {("T", "G"): {0: 9, 1: 7}, ("T", "But"): {0: 3}})
    assert table.lacks(theirs, but="But")
    table.fill(theirs, 0.0, but="But")
    assert dict(table.queues("G", "T")) == {0: 5, 1: 7}
    assert table.find("But", "T", 0) is None
    assert not table.lacks(theirs, but="But")
    assert table.lacks(theirs, but="")


def test_there_is_a_bound() -> None:
    table = offsets()
    table.limit = 2
    table.commit("g", "T", 0, 5)
    assert not table.is_full
    table.commit("g", "T", 1, 5)
    assert table.is_full


GROUPS, TOPICS, QUEUES = st.sampled_from("gh"), st.sampled_from("TU"), st.integers(0, 2)
COMMIT = st.tuples(GROUPS, TOPICS, QUEUES, st.integers(0, 9))
REMOVAL = st.tuples(st.none() | GROUPS, st.none() | TOPICS)


@given(st.lists(COMMIT | REMOVAL, max_size=20))
def test_table_count_and_file_agree(
    actions: list[tuple[str, str, int, int] | tuple[str | None, str | None]],
) -> None:
    table, expected = offsets(), dict[tuple[str, str, int], int]()
    for action in actions:
        if len(action) == 4:
            table.commit(*action)
            expected[action[:3]] = action[3]
        else:
            group, topic = action
            table.remove(group, topic)
            for key in list(expected):
                if group in {None, key[0]} and topic in {None, key[1]}:
                    del expected[key]
    again = offsets()
    again.load(table.content())
    for each in (table, again):
        found = {(g, t, q): o for g, t, queues in each.places() for q, o in queues.items()}
        assert found == expected
        assert len(each) == len(expected)
