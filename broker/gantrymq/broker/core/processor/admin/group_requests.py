"""Handles requests that create, change, delete and list the broker's consumer groups.

A change is answered once it is in the file. A request for one group creates it if consumers may
create groups, as in RocketMQ: a proxy asks before the group's first consumer comes. Attributes in
requests of 5.x tools are changes, "+key" and "-key".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File, Outcome, Reply, Request
from gantrymq.broker.core.metadata import attributes
from gantrymq.broker.core.metadata.group_creation import ensure_group, why_no_group
from gantrymq.broker.core.metadata.table_changes import stored
from gantrymq.broker.core.names.name_rules import group_fault
from gantrymq.broker.core.names.system_topics import SYSTEM_GROUPS
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.processor.admin.topic_requests import (
    QUEUES_MAX,
    TOPICS_A_TURN,
    not_saved,
    slices,
)
from gantrymq.broker.core.processor.handler import BoundHandlers, Handlers
from gantrymq.broker.core.replication import slave_refusals
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.groups import GROUPS_MAX, READ_FORBIDDEN
from gantrymq.broker.core.tables.table_memory import GROUP_BYTES
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.consumption import GroupForbidden
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.group import (
    DeleteSubscriptionGroupRequest,
    GetSubscriptionGroupConfigRequest,
    UpdateGroupForbiddenRequest,
)
from gantrymq.wire.jsonvalue import Json, list_of, object_of

# Limit of the log lines about topics of one deleted group: the log takes no more lines of a kind in
# 10 s.
TOPICS_LOGGED: Final = 300

# ---------------------------------------------------------------------- creating and changing


def update_and_create_group(state: State, request: Request) -> Outcome | Task[Outcome]:
    config = GroupConfig.from_json(javajson.loads(request.command.body))
    return _change(state, request, [config])


def update_and_create_group_list(state: State, request: Request) -> Outcome | Task[Outcome]:
    bean = object_of(javajson.loads(request.command.body), "SubscriptionGroupList")
    groups = list_of(bean.get("groupConfigList"), "groupConfigList")
    return _change_list(state, request, groups)


def _change_list(state: State, request: Request, groups: Sequence[Json]) -> Task[Outcome]:
    """Change many groups over several turns. If another client changes one of them between the
    turns, the last change wins. If other requests use up the limit of groups meanwhile, or this
    broker stops being master, the rest of the list is not changed."""
    wanted: list[GroupConfig] = []
    yield from tasks.each(
        groups, lambda group: wanted.append(GroupConfig.from_json(group)), TOPICS_A_TURN
    )
    configs: dict[str, GroupConfig] = {}
    for first in range(0, len(wanted), TOPICS_A_TURN):
        refusal = _checked(state, wanted[first : first + TOPICS_A_TURN], configs)
        if refusal is not None:
            return refusal
        yield from tasks.wait()
    refusal = _no_room(state, configs)
    if refusal is not None:
        return refusal
    for part in slices(configs):
        refusal = slave_refusals.refuse(state, request) or _no_room(state, part)
        if refusal is not None:
            break
        for config in part.values():
            _put(state, request, config)
        yield from tasks.wait()
    saved = yield from _saved(state, File.GROUPS)
    return refusal or saved


def _change(
    state: State, request: Request, wanted: Sequence[GroupConfig]
) -> Outcome | Task[Outcome]:
    """Change all of the groups or none. The attributes of `wanted` are changes to the current
    ones."""
    configs: dict[str, GroupConfig] = {}
    refusal = _checked(state, wanted, configs) or _no_room(state, configs)
    if refusal is not None:
        return refusal
    for config in configs.values():
        _put(state, request, config)
    return _saved(state, File.GROUPS)


def _checked(
    state: State, wanted: Sequence[GroupConfig], configs: dict[str, GroupConfig]
) -> Reply | None:
    """Add the resulting configurations to `configs`. Returns the refusal if one is invalid."""
    for each in wanted:
        refusal = _refusal(each)
        if refusal is not None:
            return refusal
        known = configs.get(each.group_name) or state.groups.find(each.group_name)
        current = None if known is None else known.attributes
        kept = attributes.altered(attributes.GROUP_ATTRIBUTES, current, each.attributes)
        configs[each.group_name] = replace(each, attributes=kept)
    return None


def _no_room(state: State, configs: Mapping[str, GroupConfig]) -> Reply | None:
    """The refusal if the new groups exceed the limits; else None."""
    new = [group for group in configs if state.groups.find(group) is None]
    if len(state.groups) + len(new) > GROUPS_MAX:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"no group was made: a broker has {GROUPS_MAX} groups at most, this one"
            f" {len(state.groups)}; delete some with mqadmin deleteSubGroup",
        )
    obstacle = state.table_memory.obstacle(len(new) * GROUP_BYTES)
    if obstacle is not None:
        return refused(ResponseCode.SYSTEM_ERROR, f"no group was made: {obstacle}")
    return None


def _put(state: State, request: Request, config: GroupConfig) -> None:
    before = state.groups.find(config.group_name)
    if state.groups.put(config, state.wall_ms):
        verb = "create new" if before is None else f"update, old: {before} new:"
        state.effects.info(f"{verb} subscription group, {config}, caller={request.channel.peer}")


def _refusal(wanted: GroupConfig) -> Reply | None:
    fault = group_fault(wanted.group_name)
    if fault is not None:
        return refused(ResponseCode.INVALID_PARAMETER, fault)
    if not 0 <= wanted.retry_queue_nums <= QUEUES_MAX:
        return refused(
            ResponseCode.INVALID_PARAMETER,
            f"retryQueueNums of group[{wanted.group_name}] is {wanted.retry_queue_nums}, it may be"
            f" 0 to {QUEUES_MAX}",
        )
    return None


def _saved(state: State, *files: File) -> Task[Outcome]:
    failure = yield from stored(state, *files)
    return done() if failure is None else not_saved(failure)


# ---------------------------------------------------------------------- deleting and forbidding


def delete_group(pops: Pops, state: State, request: Request) -> Outcome | Task[Outcome]:
    """Deletes a group, on request with its offsets. Tools delete its retry and dead-letter topics
    by requests of their own. A group that keeps its offsets keeps its in-flight messages, which are
    not consumed yet."""
    header = DeleteSubscriptionGroupRequest.decode(request.command.ext)
    group = header.group_name
    if group in SYSTEM_GROUPS:
        return refused(
            ResponseCode.INVALID_PARAMETER,
            f"The group[{group}] is a system group: the broker keeps its own progress under it.",
        )
    was_there = state.groups.remove(group, state.wall_ms)
    state.effects.info(
        f"delete subscription group {'OK' if was_there else 'failed, not exist'}, subscription"
        f" group:{group}, caller={request.channel.peer}"
    )
    if not (header.remove_offset or header.clean_offset):
        return _saved(state, File.GROUPS)
    topics = state.offsets.topics_of(group)
    for topic in topics[:TOPICS_LOGGED]:
        offsets = dict(state.offsets.queues(group, topic))
        state.effects.warning(f"Clean group's offset, {topic}@{group}, {offsets}")
    if len(topics) > TOPICS_LOGGED:
        state.effects.warning(f"Clean group's offset, {group}, in {len(topics)} topics in all")
    state.offsets.remove(group=group)
    state.resets.remove(group=group)
    pops.remove(group=group)
    return _saved(state, File.GROUPS, File.OFFSETS, File.POPS)


def update_and_get_forbidden(state: State, request: Request) -> Outcome | Task[Outcome]:
    """Answers whether a group may read a topic, after changing that if the request says so."""
    header = UpdateGroupForbiddenRequest.decode(request.command.ext)
    group, topic = header.group, header.topic
    bits = state.groups.forbidden(group, topic)
    if header.readable is None:
        return _forbidden(group, topic, bits)
    if state.groups.find(group) is None:
        return _no_group(group)
    if state.topics.find(topic) is None:
        return refused(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, nothing was changed"
        )
    after = bits & ~READ_FORBIDDEN if header.readable else bits | READ_FORBIDDEN
    state.groups.forbid(group, topic, after, state.wall_ms)
    state.effects.info(
        f"set group forbidden, {group}@{topic} old: {bits} new: {after},"
        f" caller={request.channel.peer}"
    )
    return _forbidden_when_saved(state, group, topic, after)


def _forbidden_when_saved(state: State, group: str, topic: str, bits: int) -> Task[Outcome]:
    failure = yield from stored(state, File.GROUPS)
    return _forbidden(group, topic, bits) if failure is None else not_saved(failure)


def _forbidden(group: str, topic: str, bits: int) -> Reply:
    return done_json(GroupForbidden(group, topic, readable=not bits & READ_FORBIDDEN).to_json())


# ---------------------------------------------------------------------- listing


def get_group(state: State, request: Request) -> Outcome:
    group = GetSubscriptionGroupConfigRequest.decode(request.command.ext).group
    config = ensure_group(state, group)
    if config is not None:
        return done_json(config.to_json())
    return refused(
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        f"No group in this broker: {why_no_group(state, group)}",
    )


def _no_group(group: str) -> Reply:
    return refused(
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        f"No group in this broker. group: {group}; its first consumer makes it, or mqadmin"
        " updateSubGroup",
    )


def get_all_groups(state: State, request: Request) -> Outcome:
    return done(body=state.groups.answer())


HANDLERS: Final[Handlers] = {
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: update_and_create_group,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: update_and_create_group_list,
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: update_and_get_forbidden,
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: get_group,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: get_all_groups,
}

BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.DELETE_SUBSCRIPTIONGROUP: lambda services: partial(delete_group, services.pops),
}
