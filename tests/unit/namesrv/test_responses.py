"""Tests responses that exceed the frame size of clients."""

from __future__ import annotations

from gantrymq.namesrv.core.responses import LIST_BYTES_MAX, topic_list
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import ResponseCode


def test_a_list_of_topics_that_fits_is_answered() -> None:
    answer = topic_list(TopicList(("a", "b"))).command

    assert answer.code == ResponseCode.SUCCESS
    assert b'"a","b"' in answer.body


def test_a_list_of_topics_that_no_frame_holds_is_refused_with_what_helps() -> None:
    topic = "t" * 127
    count = LIST_BYTES_MAX // len(topic)

    answer = topic_list(TopicList((topic,) * count)).command

    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert f"{count} topics" in (answer.remark or "")
    assert "mqadmin topicRoute" in (answer.remark or "")
    assert not answer.body
