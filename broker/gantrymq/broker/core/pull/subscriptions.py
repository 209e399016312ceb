"""Chooses the filter of a pull: the one in the request, or its group's from the last heartbeat.

A tag filter decides by the hash in the consume queue, and the client compares the tags themselves.
A SQL92 filter decides by the message's properties. A group's filter applies when it is not older
than the pull's; it is compiled from the subscription, so FILTER_DATA_NOT_LATEST is never answered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.messages import Reply
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.sql92.parser import CHARACTERS_MAX
from gantrymq.broker.core.sql92.selector import Selector, selector_of
from gantrymq.broker.core.sql92.tokens import SelectorError
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.groups import READ_FORBIDDEN
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.heartbeat import EXPRESSION_TAG, SubscriptionData
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest
from gantrymq.wire.message import properties, property_names, tags
from gantrymq.wire.message.record import Record

# Bits of a pull's sysFlag.
HAS_SUBSCRIPTION: Final = 4
CLASS_FILTER: Final = 8

# Lite pull consumers send a filter with each pull. The longest cached ones take 100 kB when parsed.
TAG_FILTERS_MAX: Final = 1024
KEPT_CHARACTERS_MAX: Final = 1_000
KEPT_CODES_MAX: Final = 1_000

# The most topics that a remark names.
NAMED_MAX: Final = 5


# The hashes of tags, or the text of an expression; equal for equal filters.
FilterKey: TypeAlias = frozenset[int] | str | None


@final
class Choice:
    """A consumer's filter for a topic; None: all messages.

    `key` is equal for subscriptions with the same filter. Created for every pull, hence slotted
    and not frozen; treat it as a value.
    """

    __slots__ = ("key", "matches", "tags")

    def __init__(
        self,
        tags: Callable[[int], bool] | None = None,
        matches: Callable[[Record], bool] | None = None,
        key: FilterKey = None,
    ) -> None:
        self.tags: Callable[[int], bool] | None = tags
        self.matches: Callable[[Record], bool] | None = matches
        self.key: FilterKey = key


ALL: Final = Choice()


def choice_of(state: State, header: PullMessageRequest, config: GroupConfig) -> Choice | Reply:
    """The filter of this pull, or why it is refused."""
    if header.sys_flag & CLASS_FILTER:
        return _no_class_filters(header.topic)
    if header.sys_flag & HAS_SUBSCRIPTION:
        return brought(state, header.expression_type or EXPRESSION_TAG, header.subscription or "")
    said = _said(state, header, config)
    if isinstance(said, Reply):
        return said
    if said.class_filter_mode:
        return _no_class_filters(header.topic)
    if said.expression_type == EXPRESSION_TAG:
        return ALL if said.sub_string == tags.ALL else _by_codes(said.codes)
    return _by_selector(state, header, said)


def brought(state: State, kind: str, text: str) -> Choice | Reply:
    """The filter in the request, or why it is not valid."""
    try:
        if kind == EXPRESSION_TAG:
            return _by_tags(text)
        selector = measured_selector(state, kind, text)
    except RemoteError as error:
        return refused(
            ResponseCode.SUBSCRIPTION_PARSE_FAILED,
            f"parse the consumer's subscription failed: {error}",
        )
    return no_property_filters(state, kind) or Choice(matches=selector.matches)


def measured_selector(state: State, kind: str, text: str) -> Selector:
    """Compile an expression, and count the time as filter work of this turn.

    A long expression takes milliseconds. Raises SelectorError for an invalid one.
    """
    meter = state.store.filter_meter
    meter.begin()
    try:
        return selector_of(kind, text)
    finally:
        meter.lap()


def _said(
    state: State, header: PullMessageRequest, config: GroupConfig
) -> SubscriptionData | Reply:
    """The group's subscription to the topic from its heartbeats, or why there is none."""
    name, topic = header.consumer_group, header.topic
    group = state.clients.consumers.get(name)
    if group is None:
        return refused(
            ResponseCode.SUBSCRIPTION_NOT_EXIST,
            f"the consumer's group info not exist: no member of group {name} has sent a heartbeat"
            f" to {state.identity.address} lately; start its consumers, and look: mqadmin"
            f" consumerConnection -g {name}",
        )
    if group.is_broadcasting and not config.consume_broadcast_enable:
        return forbidden(
            4,
            f"the consumer group[{name}] can not consume by broadcast way: allow it with mqadmin"
            f" updateSubGroup -b {state.identity.address} -g {name} -d true",
        )
    if state.groups.forbidden(name, topic) & READ_FORBIDDEN:
        return forbidden(5, f"the consumer group[{name}] is forbidden for topic[{topic}]")
    said = group.subscriptions.get(topic)
    if said is None:
        named = ", ".join(list(group.subscriptions)[:NAMED_MAX]) or "nothing"
        return refused(
            ResponseCode.SUBSCRIPTION_NOT_EXIST,
            f"the consumer's subscription not exist: the last heartbeat of group {name} subscribes"
            f" {named}, not {topic}; all members of a group must subscribe the same topics",
        )
    if said.sub_version < header.sub_version:
        return refused(
            ResponseCode.SUBSCRIPTION_NOT_LATEST,
            f"the consumer's subscription not latest: the pull is of version {header.sub_version},"
            f" the last heartbeat of {said.sub_version}; the next one corrects that",
        )
    return said


def _by_selector(
    state: State, header: PullMessageRequest, said: SubscriptionData
) -> Choice | Reply:
    refusal = no_property_filters(state, said.expression_type)
    if refusal is not None:
        return refusal
    try:
        selector = state.filters.selector(header.consumer_group, said)
    except SelectorError as error:
        return refused(
            ResponseCode.FILTER_DATA_NOT_EXIST,
            f"The broker's consumer filter data is not exist!Your expression may be wrong! {error}",
        )
    if state.settings.filter_support_retry and header.topic.startswith(RETRY_PREFIX):
        return Choice(
            matches=lambda record: _matches_retried(state, header.consumer_group, record),
            key=said.sub_string,
        )
    return Choice(matches=selector.matches, key=said.sub_string)


def _matches_retried(state: State, group: str, record: Record) -> bool:
    """Whether a retried message matches the filter of its original topic."""
    topic = properties.get(record.properties, property_names.RETRY_TOPIC)
    members = state.clients.consumers.get(group)
    said = None if members is None or topic is None else members.subscriptions.get(topic)
    if said is None or said.expression_type == EXPRESSION_TAG:
        return True
    return state.filters.selector(group, said).matches(record)


def no_property_filters(state: State, expression_type: str) -> Reply | None:
    """Refuse all filters but those by tags, where they are switched off."""
    if state.settings.enable_property_filter:
        return None
    return refused(
        ResponseCode.SYSTEM_ERROR,
        f"The broker does not support consumer to filter message by {expression_type}: switch it"
        f" on with mqadmin updateBrokerConfig -b {state.identity.address}"
        " -k enablePropertyFilter -v true",
    )


def _no_class_filters(topic: str) -> Reply:
    return refused(
        ResponseCode.SYSTEM_ERROR,
        "The broker does not support consumer to filter message by class: subscribe"
        f" {topic} with MessageSelector.bySql(...), SQL92 on the messages' properties",
    )


def forbidden(kind: int, remark: str) -> Reply:
    """NO_PERMISSION; the kind tells 5.x clients what forbids it."""
    return Reply(
        Command(ResponseCode.NO_PERMISSION, remark=remark, ext={"forbiddenType": str(kind)})
    )


def _by_tags(text: str) -> Choice:
    """The filter for this text. Raises RemoteError when it is too long."""
    if len(text) > CHARACTERS_MAX:
        raise RemoteError(f"it has {len(text)} characters, at most {CHARACTERS_MAX} are read")
    return _kept_by_tags(text) if len(text) <= KEPT_CHARACTERS_MAX else _made_by_tags(text)


def _made_by_tags(text: str) -> Choice:
    by_tags = tags.parse(text)
    return ALL if by_tags.expression == tags.ALL else Choice(tags=by_tags.matches)


def _by_codes(codes: tuple[int, ...]) -> Choice:
    """The filter for hashes of tags, which the client computed."""
    return _kept_by_codes(codes) if len(codes) <= KEPT_CODES_MAX else _made_by_codes(codes)


def _made_by_codes(codes: tuple[int, ...]) -> Choice:
    hashes = frozenset(codes)
    return Choice(tags=tags.TagFilter("", (), hashes).matches, key=hashes)


_kept_by_tags: Final = lru_cache(TAG_FILTERS_MAX)(_made_by_tags)
_kept_by_codes: Final = lru_cache(TAG_FILTERS_MAX)(_made_by_codes)
