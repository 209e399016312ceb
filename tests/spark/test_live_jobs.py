"""Replay, stats, dlq and trace on a real broker, each as its command line asks for it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gantrymq.client import ConsumeFrom, Later, Message, Outcome, ReceivedMessage
from gantrymq.client.blocking import Admin, Producer, PushConsumer
from gantrymq.fakes.stores.stored_bodies import StoredMessage, stored_messages
from gantrymq.spark.jobs import command_line, runner
from gantrymq.spark.jobs.ending import Ending
from gantrymq.spark.jobs.summary import as_json
from gantrymq.testing.server import StandaloneServer

WAIT_SECONDS = 60.0
TEST_SECONDS = 600  # see test_archive_job.py

pytestmark = pytest.mark.timeout(TEST_SECONDS)

# Any: a summary as a reader of --json has it.
Report = dict[str, Any]
RunJob = Callable[..., Report]


@pytest.fixture
def run_job(spark: SparkSession, gantry_server: StandaloneServer) -> RunJob:
    """Runs `gantry spark …` in the session of the tests; the report is what --json prints."""

    def run(*argv: str) -> Report:
        given = [argv[0], "-n", gantry_server.name_servers, *argv[1:]]
        _, job = command_line.parse(given, time.time_ns() // 1_000_000)
        summary = runner.do(spark, job, Ending(is_stream=False))
        report: Report = json.loads(as_json(summary))
        return report

    return run


def make_topic(server: StandaloneServer, name: str, queues: int = 2) -> str:
    with Admin(name_servers=server.name_servers) as admin:
        admin.create_topic(name, queues=queues)
    return name


def fill(server: StandaloneServer, topic: str, count: int) -> None:
    with Producer("job-tests", name_servers=server.name_servers) as producer:
        for number in range(count):
            tag = "even" if number % 2 == 0 else "odd"
            producer.send(
                Message(topic, str(number), tag=tag, keys=[f"k{number}"], properties={"a": "b"})
            )


def wait_for(condition: Callable[[], bool]) -> None:
    gives_up_at = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < gives_up_at
        time.sleep(0.05)


@pytest.mark.newest_spark
def test_a_replay_keeps_messages_and_order_and_is_harmless_a_second_time(
    run_job: RunJob, gantry_server: StandaloneServer
) -> None:
    source, target = make_topic(gantry_server, "replayed"), make_topic(gantry_server, "replay-to")
    fill(gantry_server, source, 20)
    flags = ("replay", "-t", source, "--to-topic", target, "--id", "again")
    assert run_job(*flags, "--dry-run")["messages"] == 20
    assert stored_messages(gantry_server.name_servers, target) == []
    copies: list[StoredMessage] = []
    for _ in range(2):
        assert run_job(*flags)["messages"] == 20
        copies = stored_messages(gantry_server.name_servers, target)
        assert sorted(int(copy.body) for copy in copies) == list(range(20))
    said = {"a": "b", "REPLAY_ID": "again"}
    assert all(said.items() <= copy.properties.items() for copy in copies)
    assert {(copy.properties["KEYS"], copy.body) for copy in copies} == {
        (f"k{number}", str(number).encode()) for number in range(20)
    }
    originals = stored_messages(gantry_server.name_servers, source)
    for queue in (0, 1):
        there = [each.body for each in originals if each.queue_id == queue]
        assert there == [copy.body for copy in copies if copy.body in there]


def test_a_replay_sends_what_its_filters_leave(
    run_job: RunJob, gantry_server: StandaloneServer
) -> None:
    source = make_topic(gantry_server, "filtered")
    target = make_topic(gantry_server, "filtered-to")
    fill(gantry_server, source, 10)
    where = "cast(cast(body AS string) AS int) > 3"
    report = run_job(
        "replay", "-t", source, "--to-topic", target, "--tag", "even", "--where", where
    )
    assert report["messages"] == 3
    copies = stored_messages(gantry_server.name_servers, target)
    assert sorted(copy.body for copy in copies) == [b"4", b"6", b"8"]


def test_stats_count_a_topic(
    run_job: RunJob, gantry_server: StandaloneServer, tmp_path: Any
) -> None:
    topic = make_topic(gantry_server, "counted")
    fill(gantry_server, topic, 10)
    report = run_job("stats", "-t", topic, "--bucket", "day", "--output", str(tmp_path / "table"))
    assert (report["messages"], report["bytes"]) == (10, 10)
    assert {row["tag"]: row["messages"] for row in report["by_day"]} == {"even": 5, "odd": 5}
    assert report["top_keys"][0]["messages"] == 1
    assert report["top_producers"][0] == {"topic": topic, "producer": "127.0.0.1", "messages": 10}
    assert list((tmp_path / "table").glob("*.parquet"))


def test_dead_letters_are_shown_and_sent_again(
    run_job: RunJob, gantry_server: StandaloneServer
) -> None:
    topic, group = make_topic(gantry_server, "parcels", queues=1), "couriers"
    dead = f"%DLQ%{group}"
    fill(gantry_server, topic, 3)
    consumer = PushConsumer(
        group,
        name_servers=gantry_server.name_servers,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        max_reconsume_times=0,
    )
    consumer.subscribe(topic, "*", lambda _: Later())
    with consumer:
        wait_for(lambda: len(_stored(gantry_server, dead)) == 3)
    report = run_job("dlq", "-g", group)
    (told,) = [row for row in report["groups"] if row["kind"] == "DLQ"]
    assert (told["group"], told["origin"], told["messages"]) == (group, topic, 3)
    assert {row["body"] for row in report["samples"]} == {"0", "1", "2"}
    report = run_job("dlq", "-g", group, "--resend", "--where", "keys = 'k1'", "--id", "dead")
    assert report["messages"] == 1
    stored = _stored(gantry_server, topic)
    assert sorted(each.body for each in stored) == [b"0", b"1", b"1", b"2"]
    assert [each.properties["KEYS"] for each in stored if "REPLAY_ID" in each.properties] == ["k1"]


def test_traces_tell_what_was_never_consumed(
    run_job: RunJob, gantry_server: StandaloneServer
) -> None:
    seen, unseen = make_topic(gantry_server, "seen"), make_topic(gantry_server, "unseen")
    with Producer("tracked", name_servers=gantry_server.name_servers, trace=True) as producer:
        producer.send(Message(seen, "x"))
        missed = producer.send(Message(unseen, "y")).message_id
    done = threading.Event()

    def take(_: list[ReceivedMessage]) -> Outcome:
        done.set()
        return None

    consumer = PushConsumer(
        "trackers",
        name_servers=gantry_server.name_servers,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        trace=True,
    )
    consumer.subscribe(seen, "*", take)
    with consumer:
        assert done.wait(WAIT_SECONDS)
    report = run_job("trace", "--grace", "0s", "-t", f"{seen},{unseen}")
    assert {row["topic"]: row["never_consumed"] for row in report["topics"]} == {seen: 0, unseen: 1}
    assert [row["message id"] for row in report["never_consumed"]] == [missed]
    (told,) = report["groups"]
    assert (told["topic"], told["group"], told["deliveries"]) == (seen, "trackers", 1)
    assert told["failed"] == 0
    assert told["end_to_end_p50_ms"] >= 0


def _stored(server: StandaloneServer, topic: str) -> list[StoredMessage]:
    with Admin(name_servers=server.name_servers) as admin:
        if topic not in admin.topics.names():
            return []
    return stored_messages(server.name_servers, topic)
