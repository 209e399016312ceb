"""Tests a master's tables at a follower whose disk takes them late or refuses them."""

from __future__ import annotations

from gantrymq.broker.core.messages import File, SaveFile
from gantrymq.broker.core.replication.consumption_table import CONSUMPTION
from gantrymq.broker.core.replication.metadata_replication import TOPICS
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.groups.members import Member, pair
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.topic import DeleteTopicRequest

FULL = "the disk is full"


def stuck_pair() -> tuple[Member, Member]:
    """Both have the messages of a topic; what the follower writes from now on waits."""
    master, follower = pair()
    add_topic(master)
    for body in (b"a", b"b", b"c"):
        master.ask(RequestCode.SEND_MESSAGE_V2, message(), body)
    follower.copy(master)
    follower.pass_time(1.0)
    follower.files_are_stuck = True
    return master, follower


def consume(master: Member, follower: Member, offset: int) -> None:
    """The group comes so far, and the follower hears of it."""
    master.state.offsets.commit("G", "T", 0, offset)
    follower.copy_tables(master, CONSUMPTION)
    follower.pass_time(0.1)


def offset_of(member: Member) -> int | None:
    return member.state.offsets.find("G", "T", 0)


def write(member: Member, file: File, failure: str | None = None) -> None:
    """The one write of this file that is under way ends."""
    [save] = [each for each in member.unwritten if each.file is file]
    member.write(save, failure)
    member.settle()


def refuse_all(member: Member, seconds: int) -> None:
    """The disk takes nothing for so long."""
    for _ in range(seconds):
        saves: list[SaveFile] = list(member.unwritten)
        for save in saves:
            member.write(save, FULL)
        member.pass_time(1.0)


def test_waiter_for_offsets_learns_that_the_disk_is_full() -> None:
    master, follower = stuck_pair()
    consume(master, follower, 1)
    follower.lead(2)
    request = follower.send(
        RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic="AnotherOne")
    )
    refuse_all(follower, 5)
    answer = follower.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert FULL in (answer.remark or "")
    follower.files_are_stuck = False
    refuse_all(follower, 1)
    follower.pass_time(2.0)
    assert b"0:1" in follower.saved[File.OFFSETS]


def test_how_far_a_group_came_does_not_go_back_to_what_came_earlier() -> None:
    master, follower = stuck_pair()
    consume(master, follower, 1)
    write(follower, File.POPS, FULL)
    consume(master, follower, 3)
    write(follower, File.POPS)
    assert offset_of(follower) == 3
    follower.files_are_stuck = False
    follower.pass_time(3.0)
    assert offset_of(follower) == 3


def test_news_that_does_not_end_leaves_what_is_written_meanwhile_its_turn() -> None:
    master, follower = stuck_pair()
    consume(master, follower, 1)
    for offset in (2, 3):
        consume(master, follower, offset)
        write(follower, File.POPS)
        assert offset_of(follower) == offset - 1


def test_a_table_that_cannot_be_stored_is_tried_as_it_is_by_then_and_no_more() -> None:
    master, follower = stuck_pair()
    before = len(follower.state.task_runner)
    for number in range(10):
        add_topic(master, f"U{number}")
        follower.copy_tables(master, TOPICS)
    write(follower, File.TOPICS, FULL)
    follower.pass_time(1.0)
    write(follower, File.TOPICS, FULL)
    assert sum("storing a replicated table failed" in line.text for line in follower.lines) == 1
    assert len(follower.state.task_runner) == before + 1
    assert follower.broker.unstored_tables == {TOPICS}
    follower.pass_time(1.0)
    write(follower, File.TOPICS)
    assert not follower.broker.unstored_tables


def test_a_table_is_not_stored_by_the_write_of_an_earlier_one() -> None:
    master, follower = stuck_pair()
    add_topic(master, "U")
    follower.copy_tables(master, TOPICS)
    write(follower, File.TOPICS, FULL)
    add_topic(master, "V")
    follower.copy_tables(master, TOPICS)
    write(follower, File.TOPICS)
    assert not follower.broker.unstored_tables
    follower.pass_time(1.0)  # the first one's next try
    add_topic(master, "W")
    follower.copy_tables(master, TOPICS)
    write(follower, File.TOPICS)
    assert follower.broker.unstored_tables == {TOPICS}
    write(follower, File.TOPICS)
    assert not follower.broker.unstored_tables
    assert b'"W"' in follower.saved[File.TOPICS]
