"""The table of topics, and its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.tables.topics import Topics
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import TopicConfig

VECTORS = Path(__file__).parents[3] / "vectors"


def topics() -> Topics:
    return Topics(Files())


@pytest.mark.parametrize("release", ["4.9.8", "5.3.3"])
def test_the_file_is_javas(release: str) -> None:
    vectors = json.loads((VECTORS / f"bodies-{release}.json").read_text())
    text = next(each["json"] for each in vectors if each["name"].startswith("topics.json"))
    read = topics()
    read.load(text.encode())
    again = topics()
    again.load(read.content())
    assert again.all == read.all
    assert again.data_version == read.data_version
    if release == "5.3.3":
        written = javajson.dumps_fastjson(javajson.loads(read.content()))
        assert written.decode() == text


def test_change_makes_a_new_version_and_calls_the_listeners() -> None:
    table, told = topics(), []
    table.put(TopicConfig("old"), 1)
    table.listen(lambda topic, config: told.append((topic, config)))
    assert table.put(TopicConfig("T"), 7)
    assert not table.put(TopicConfig("T"), 8)
    assert table.remove("T", 9)
    assert not table.remove("T", 10)
    assert told == [("old", TopicConfig("old")), ("T", TopicConfig("T")), ("T", None)]
    assert (table.data_version.counter, table.data_version.timestamp_ms) == (3, 9)


def test_a_change_is_written_at_once() -> None:
    files = Files()
    Topics(files).put(TopicConfig("T"), 1)
    assert [save.file for save in files.take_due(0.0)] == [File.TOPICS]


def test_a_file_of_something_else_is_refused() -> None:
    with pytest.raises(RemoteError):
        topics().load(b"[]")
    with pytest.raises(RemoteError):
        topics().load(b'{"topicConfigTable":{"T":{}}}')


def test_the_queues_of_all_topics_are_counted_through_every_change() -> None:
    table = topics()
    table.put(TopicConfig("A", read_queue_nums=4, write_queue_nums=8), 1)
    table.put(TopicConfig("B", read_queue_nums=16, write_queue_nums=2), 2)
    assert table.queue_count == 8 + 16
    table.put(TopicConfig("A", read_queue_nums=1, write_queue_nums=1), 3)
    assert table.queue_count == 1 + 16
    other, copied = topics(), topics()
    other.load(table.content())
    copied.copy(table.content())
    assert other.queue_count == copied.queue_count == 17
    table.remove("B", 4)
    assert table.queue_count == 1
