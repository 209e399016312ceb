"""Tests that a committed offset beyond the end of a shorter log does not hide new messages."""

from __future__ import annotations

from gantrymq.broker.core.messages import File
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.replicas import SLAVE
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.store.layout import ABORT
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.offset import QueryConsumerOffsetRequest, UpdateConsumerOffsetRequest

SEND = RequestCode.SEND_MESSAGE_V2


def test_group_ahead_of_a_log_lost_in_a_crash_gets_the_next_messages() -> None:
    first = OpenedBroker()
    add_topic(first)
    for number in range(10):
        first.ask(SEND, message(), b"%d" % number)
    commit = UpdateConsumerOffsetRequest(
        consumer_group="TOOLS_CONSUMER", topic="T", queue_id=0, commit_offset=10
    )
    first.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    first.pass_time(10.0)

    disk = MemoryDisk(total_bytes=1 << 28)  # the log is gone, the files are not
    disk.create(ABORT).close()
    after = OpenedBroker(disk=disk, files=first.saved)
    assert File.OFFSETS in first.saved
    for number in range(12):
        after.ask(SEND, message(), b"new %d" % number)
    query = QueryConsumerOffsetRequest(consumer_group="TOOLS_CONSUMER", topic="T", queue_id=0)
    answer = after.ask(RequestCode.QUERY_CONSUMER_OFFSET, query)
    assert answer.ext == {"offset": "0"}


def test_group_ahead_of_a_promoted_slave_gets_the_next_messages() -> None:
    """By its settings, and without a crash: its log was behind the one that was read."""
    files = {File.OFFSETS: b'{"offsetTable":{"T@TOOLS_CONSUMER":{0:10}}}'}
    slave = OpenedBroker(files=files, identity=SLAVE)
    assert slave.state.offsets.find("TOOLS_CONSUMER", "T", 0) == 10
    after = OpenedBroker(files=files)
    add_topic(after)
    for number in range(12):
        after.ask(SEND, message(), b"new %d" % number)
    query = QueryConsumerOffsetRequest(consumer_group="TOOLS_CONSUMER", topic="T", queue_id=0)
    assert after.ask(RequestCode.QUERY_CONSUMER_OFFSET, query).ext == {"offset": "0"}
    assert any("group=TOOLS_CONSUMER" in line.text for line in after.lines)
