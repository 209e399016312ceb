"""Handles the requests to delete expired or unused files."""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.names.system_topics import is_system_topic
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import RequestCode, ResponseCode


def delete_expired_log(state: State, request: Request) -> Outcome:
    """Make the next deletions independent of the hour; the minimum age of a file does not
    change."""
    retention = state.store.retention
    if retention is None:
        return refused(
            ResponseCode.SYSTEM_ERROR, "the store is starting or was stopped; try again later"
        )
    retention.delete_now()
    state.effects.info(f"deleteExpiredCommitLog asked by {request.channel.peer}")
    return done()


def clean_expired_queues(state: State, request: Request) -> Outcome:
    """Do nothing: queue files are deleted automatically, soon after the log files they refer to."""
    return done()


def clean_unused_topics(state: State, request: Request) -> Outcome:
    """Delete queues whose topic does not exist in this broker."""
    unused = [
        topic
        for topic in state.store.queues.topics()
        if state.topics.find(topic) is None and not is_system_topic(topic)
    ]
    for topic in unused:
        state.store.delete_topic(topic)
        state.effects.info(
            f"cleanUnusedTopic asked by {request.channel.peer}: deleted queues of {topic}"
        )
    return done()


HANDLERS: Final[Handlers] = {
    RequestCode.DELETE_EXPIRED_COMMITLOG: delete_expired_log,
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: clean_expired_queues,
    RequestCode.CLEAN_UNUSED_TOPIC: clean_unused_topics,
}
