"""Reads the current values of the objects of an audited request, for its record's before and after.

    show = VIEWS[code](request)      reads the names from the request, once
    show(state)                      {name: value}, with None for what does not exist

A view raises RemoteError for a malformed request, which its handler then refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

from gantrymq.audit.record import OBJECTS_MAX
from gantrymq.base.configuration.properties import decode_properties, parse_properties
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.processor.access.acl_requests import account_json
from gantrymq.broker.core.processor.admin.config_requests import BODY_BYTES_MAX
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.groups import READ_FORBIDDEN
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.pops import TopicMode
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.headers.group import UpdateGroupForbiddenRequest
from gantrymq.wire.jsonvalue import Json, JsonObject, list_of, object_of

Values: TypeAlias = Mapping[str, Json]
Show: TypeAlias = Callable[[State], Values]
View: TypeAlias = Callable[[Request], Show]

# If a group has offsets in more queues of a topic, the record has the first ones and their number.
QUEUES_MAX: Final = 64

# Reading a longer list of topics or groups twice would take too long.
LIST_BYTES_MAX: Final = 256 << 10


def show_nothing(state: State) -> Values:
    return {}


def _values(names: Sequence[str], find: Callable[[State, str], Json]) -> Show:
    return lambda state: {name: find(state, name) for name in names}


def _by_field(field: str, find: Callable[[State, str], Json]) -> View:
    """A view of the object that one of the request's fields names."""

    def view(request: Request) -> Show:
        name = (request.command.ext or {}).get(field)
        return _values([name] if name else [], find)

    return view


def _by_body(key: str, find: Callable[[State, str], Json], *, beans: str = "") -> View:
    """A view of the objects that the body names: one bean, or the list of them in the member
    `beans`."""

    def view(request: Request) -> Show:
        body = request.command.body
        if len(body) > LIST_BYTES_MAX:
            return lambda _: {f"a list of {len(body)} bytes": None}
        bean = object_of(javajson.loads(body), "body")
        each = islice(list_of(bean.get(beans), beans), OBJECTS_MAX) if beans else [bean]
        names = (one.get(key) for one in each if isinstance(one, dict))
        return _values([name for name in names if isinstance(name, str)], find)

    return view


def _topic(state: State, name: str) -> Json:
    config = state.topics.find(name)
    return None if config is None else config.to_json()


def _group(state: State, name: str) -> Json:
    config = state.groups.find(name)
    return None if config is None else config.to_json()


def _forbidden(request: Request) -> Show:
    header = UpdateGroupForbiddenRequest.decode(request.command.ext)
    group, topic = header.group, header.topic
    return lambda state: {
        f"{group}@{topic}": {"readable": not state.groups.forbidden(group, topic) & READ_FORBIDDEN}
    }


def _mode(request: Request) -> Show:
    asked = TopicMode.from_json(javajson.loads(request.command.body))
    topic, group = asked.topic, asked.consumer_group

    def show(state: State) -> Values:
        mode = state.request_modes.find(topic, group)
        return {f"{group}@{topic}": None if mode is None else mode.to_json()}

    return show


def _offsets_of(group_field: str) -> View:
    """A view of a group's offsets in one topic, or in all its topics if the request names none."""

    def view(request: Request) -> Show:
        ext = request.command.ext or {}
        group, topic = ext.get(group_field, ""), ext.get("topic", "")

        def show(state: State) -> Values:
            topics = [topic] if topic else state.offsets.topics_of(group)[:OBJECTS_MAX]
            return {f"{group}@{each}": _offsets(state, group, each) for each in topics}

        return show

    return view


def _offsets(state: State, group: str, topic: str) -> Json:
    queues = state.offsets.queues(group, topic)
    if not queues:
        return None
    shown: JsonObject = {str(queue): queues[queue] for queue in sorted(queues)[:QUEUES_MAX]}
    if len(queues) > QUEUES_MAX:
        shown["queues"] = len(queues)
    return shown


def _settings(request: Request) -> Show:
    body = request.command.body
    try:
        keys = parse_properties(decode_properties(body)) if len(body) <= BODY_BYTES_MAX else {}
    except ConfigurationError:
        return show_nothing

    def show(state: State) -> Values:
        texts = state.configuration.texts()
        return {key: texts.get(key) for key in islice(keys, OBJECTS_MAX)}

    return show


def _account(state: State, name: str) -> Json:
    guard = state.access.guard
    account = None if guard is None else guard.rules.accounts.get(name)
    if account is None:
        return None
    # `record` hides the secret, and says whether it changed.
    return {**account_json(account), "secretKey": account.secret_key}


def _addresses(request: Request) -> Show:
    def show(state: State) -> Values:
        guard = state.access.guard
        patterns = () if guard is None else guard.rules.global_white
        return {"globalWhiteRemoteAddresses": [pattern.text for pattern in patterns]}

    return show


def _named_by(*fields: str) -> View:
    """A view that shows the names only."""

    def view(request: Request) -> Show:
        ext = request.command.ext or {}
        name = " ".join(ext[field] for field in fields if field in ext)
        return lambda _: {name: None} if name else {}

    return view


VIEWS: Final[Mapping[int, View]] = {
    Code.UPDATE_AND_CREATE_TOPIC: _by_field("topic", _topic),
    Code.UPDATE_AND_CREATE_TOPIC_LIST: _by_body("topicName", _topic, beans="topicConfigList"),
    Code.DELETE_TOPIC_IN_BROKER: _by_field("topic", _topic),
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _by_body("groupName", _group),
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _by_body(
        "groupName", _group, beans="groupConfigList"
    ),
    Code.DELETE_SUBSCRIPTIONGROUP: _by_field("groupName", _group),
    Code.UPDATE_AND_GET_GROUP_FORBIDDEN: _forbidden,
    Code.SET_MESSAGE_REQUEST_MODE: _mode,
    Code.INVOKE_BROKER_TO_RESET_OFFSET: _offsets_of("group"),
    Code.CLONE_GROUP_OFFSET: _offsets_of("destGroup"),
    Code.UPDATE_BROKER_CONFIG: _settings,
    Code.UPDATE_AND_CREATE_ACL_CONFIG: _by_field("accessKey", _account),
    Code.DELETE_ACL_CONFIG: _by_field("accessKey", _account),
    Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: _addresses,
    Code.AUTH_CREATE_USER: _named_by("username"),
    Code.AUTH_UPDATE_USER: _named_by("username"),
    Code.AUTH_DELETE_USER: _named_by("username"),
    Code.AUTH_CREATE_ACL: _named_by("subject"),
    Code.AUTH_UPDATE_ACL: _named_by("subject"),
    Code.AUTH_DELETE_ACL: _named_by("subject", "resource"),
    Code.GANTRY_SET_QUOTA: _named_by("kind", "name"),
    Code.GANTRY_DELETE_QUOTA: _named_by("kind", "name"),
    Code.RESUME_CHECK_HALF_MESSAGE: _named_by("msgId"),
    Code.RESET_MASTER_FLUSH_OFFSET: _named_by("masterFlushOffset"),
}
