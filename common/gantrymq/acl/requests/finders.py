"""Finds the topics and groups that a request names in its fields or its body.

The functions below make finders for the table in needs.py. A finder raises RemoteError if the body
cannot be parsed. If a finder finds nothing, the guard refuses the request, unless its row of the
table allows that it names nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from gantrymq.acl.rights.actions import Action
from gantrymq.acl.rights.rights import (
    Need,
    Resource,
    Right,
    cluster_need,
    consuming_needs,
    group_need,
    topic_need,
)
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.pops import BatchAckBody
from gantrymq.wire.bodies.heartbeat import HeartbeatData
from gantrymq.wire.bodies.locks import QueuesOfClient
from gantrymq.wire.command import Command
from gantrymq.wire.jsonvalue import list_of, object_of, required_text_field

REPLY_SUFFIX: Final = "_REPLY_TOPIC"

# The bound of the broker's own reader.
LOCKS_BYTES_MAX: Final = 1 << 20

Finder: TypeAlias = Callable[[Command], Sequence[Need]]


def nothing(_: Command) -> Sequence[Need]:
    """For requests that concern no topic, group or cluster."""
    return ()


def cluster(actions: Action) -> Finder:
    """For requests about the server as a whole."""
    needs = (cluster_need(actions),)
    return lambda _: needs


def topic(field: str, right: Right, actions: Action = Action.NONE) -> Finder:
    """For one topic, or the group if it is a retry topic."""

    def find(command: Command) -> Sequence[Need]:
        name = (command.ext or {}).get(field)
        return (topic_need(name, right).by(actions),) if name else ()

    return find


def reply(field: str) -> Finder:
    """For replies: any client that got a request may reply to the cluster's own reply topic, which
    no group consumes."""
    find_topic = topic(field, Right.PUB)

    def find(command: Command) -> Sequence[Need]:
        is_own = (command.ext or {}).get(field, "").endswith(REPLY_SUFFIX)
        return () if is_own else find_topic(command)

    return find


def group(field: str, actions: Action = Action.NONE) -> Finder:
    def find(command: Command) -> Sequence[Need]:
        name = (command.ext or {}).get(field)
        return (group_need(name).by(actions),) if name else ()

    return find


def both(group_field: str, actions: Action = Action.NONE, *, by_place: bool = True) -> Finder:
    """For a topic and a group.

    `by_place`: the request is about a delivered message, whose topic may be the group's pop retry
    topic. Requests that only read name the topic itself.
    """

    def find(command: Command) -> Sequence[Need]:
        ext = command.ext or {}
        topic_name, group_name = ext.get("topic"), ext.get(group_field)
        meant = group_name if by_place and group_name else ""
        needs = list(consuming_needs(topic_name, meant)) if topic_name else []
        if group_name:
            needs.append(group_need(group_name))
        return [need.by(actions) for need in needs]

    return find


def names(field: str, separator: str, resource: Resource, actions: Action) -> Finder:
    """For several topics or groups in one field."""

    def find(command: Command) -> Sequence[Need]:
        texts = (command.ext or {}).get(field, "").split(separator)
        return [Need(resource, text, Right.SUB, actions) for text in texts if text.strip()]

    return find


def of_body(resource: Resource, field: str, actions: Action, *, each_of: str = "") -> Finder:
    """For a topic or group in the body; with `each_of`, one for each element of that list."""

    def find(command: Command) -> Sequence[Need]:
        bean = object_of(javajson.loads(command.body), "body")
        beans = (
            [object_of(each, each_of) for each in list_of(bean[each_of], each_of)]
            if (each_of and each_of in bean)
            else [bean]
        )
        return [
            Need(resource, required_text_field(each, field), Right.SUB, actions) for each in beans
        ]

    return find


def all_of(*finders: Finder) -> Finder:
    """Combines several finders."""
    return lambda command: [need for find in finders for need in find(command)]


def clone(command: Command) -> Sequence[Need]:
    """For cloning offsets: the source group is read, the target group is changed."""
    ext = command.ext or {}
    needs = []
    if name := ext.get("topic"):
        needs.append(topic_need(name, Right.SUB).by(Action.UPDATE))
    if source := ext.get("srcGroup"):
        needs.append(group_need(source).by(Action.GET | Action.SUB))
    if target := ext.get("destGroup"):
        needs.append(group_need(target).by(Action.UPDATE))
    return needs


def locks(command: Command) -> Sequence[Need]:
    asked = QueuesOfClient.from_json(javajson.loads(command.body, LOCKS_BYTES_MAX))
    topics = dict.fromkeys(queue.topic for queue in asked.queues)
    needs = [need for name in topics for need in consuming_needs(name, asked.consumer_group)]
    return [group_need(asked.consumer_group), *needs]


def acks(command: Command) -> Sequence[Need]:
    if not command.body:
        return ()
    found = BatchAckBody.from_json(javajson.loads(command.body)).acks
    pairs = dict.fromkeys((ack.topic, ack.group) for ack in found)
    needs = [need for name, owner in pairs for need in consuming_needs(name, owner)]
    return [*needs, *map(group_need, dict.fromkeys(owner for _, owner in pairs))]


def heartbeat(command: Command) -> Sequence[Need]:
    data = HeartbeatData.from_json(javajson.loads(command.body))
    needs: list[Need] = []
    for consumer in data.consumers:
        needs.append(group_need(consumer.group_name))
        needs += [topic_need(each.topic, Right.SUB) for each in consumer.subscriptions]
    return needs
