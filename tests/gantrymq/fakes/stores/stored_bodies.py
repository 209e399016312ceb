"""Reads all messages of a topic by plain pulls, for comparison."""

from __future__ import annotations

import time
from dataclasses import dataclass

from gantrymq.client.bulk import BulkSettings
from gantrymq.client.bulk.connection import Connection
from gantrymq.client.bulk.connections import Connections
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest, PullMessageResponse
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import decode_all

WAIT_SECONDS = 30.0
HAS_SUBSCRIPTION = 4


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as a consumer gets it."""

    queue_id: int
    body: bytes
    flag: int
    properties: dict[str, str]


def stored_messages(name_servers: str, topic: str) -> list[StoredMessage]:
    """The messages of each queue, in order."""
    connections = _connections(name_servers)
    try:
        found = []
        for queue in connections.queues_to_write(topic):
            found += _all_of(connections.master(topic, queue.broker_name), queue)
        return found
    finally:
        connections.close()


def stored_bodies(name_servers: str, topic: str, count: int = 0) -> dict[int, list[bytes]]:
    """The bodies of each queue; waits until there are this many in all."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        messages = stored_messages(name_servers, topic)
        if len(messages) >= count or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    connections = _connections(name_servers)
    try:
        queues = {queue.queue_id for queue in connections.queues_to_write(topic)}
    finally:
        connections.close()
    return {
        queue_id: [each.body for each in messages if each.queue_id == queue_id]
        for queue_id in sorted(queues)
    }


def _connections(name_servers: str) -> Connections:
    return Connections(BulkSettings(name_servers=(name_servers,), group="reader"))


def _all_of(connection: Connection, queue: MessageQueue) -> list[StoredMessage]:
    found: list[StoredMessage] = []
    offset = 0
    while True:
        header = PullMessageRequest(
            consumer_group="reader",
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=offset,
            max_msg_nums=32,
            sys_flag=HAS_SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription="*",
            sub_version=0,
            expression_type="TAG",
        )
        answer = connection.ask(Command(RequestCode.PULL_MESSAGE, ext=header.encode()))
        next_offset = PullMessageResponse.decode(answer.ext).next_begin_offset
        if answer.code == ResponseCode.PULL_NOT_FOUND:
            return found
        if answer.code == ResponseCode.SUCCESS:
            found += [
                StoredMessage(
                    queue.queue_id, record.body, record.flag, properties.parse(record.properties)
                )
                for record in decode_all(answer.body)
            ]
        offset = next_offset
