"""Handles requests to pop and peek at messages, to wait for messages, and to count the waiters."""

from __future__ import annotations

from functools import partial
from typing import Final, TypeAlias

from gantrymq.broker.core.engine import waiting_request_memory
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import ANSWERED_LATER, Outcome, Reply, Request
from gantrymq.broker.core.metadata import topic_creation
from gantrymq.broker.core.metadata.group_creation import ensure_group, why_no_group
from gantrymq.broker.core.names import pop_handles
from gantrymq.broker.core.names.name_rules import GROUP_CHARACTERS_MAX
from gantrymq.broker.core.names.system_topics import TRANSACTION_GROUP, TRANSACTIONS_OWN
from gantrymq.broker.core.pop import peeking, popping
from gantrymq.broker.core.pop.orders import ATTEMPT_CHARACTERS_MAX
from gantrymq.broker.core.pop.popping import Pop
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.pop.waiters import Attempt
from gantrymq.broker.core.processor.handler import BoundHandlers, Handlers
from gantrymq.broker.core.pull.subscriptions import ALL, Choice, brought
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.state import State
from gantrymq.wire.bodies.heartbeat import EXPRESSION_TAG
from gantrymq.wire.bodies.shared import Permission, TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.pop import (
    NotificationRequest,
    NotificationResponse,
    PeekMessageRequest,
    PollingInfoRequest,
    PollingInfoResponse,
    PopMessageRequest,
)

# Java's limit.
MESSAGES_MAX: Final = 32

# One week, longer than any message takes to process; each in-flight message uses memory.
INVISIBLE_MS_MAX: Final = 7 * 86_400_000

_Asked: TypeAlias = PopMessageRequest | PeekMessageRequest | NotificationRequest


def pop_message(pops: Pops, state: State, request: Request) -> Outcome | Task[Outcome]:
    header = PopMessageRequest.decode(request.command.ext)
    pop = _checked(state, request, header)
    return pop if isinstance(pop, Reply) else _pop(pops, state, pop)


def _pop(pops: Pops, state: State, pop: Pop) -> Task[Outcome]:
    began = state.now
    reply = yield from popping.attempt(state, pops, pop)
    if reply is not None:
        return reply
    state.stats.missed()
    code = _cannot_wait(pops, pop.request, pop.header.poll_time)
    if code is not None:
        return popping.nothing(state, pop, code)
    too_long = waiting_request_memory.too_long(pop.request)
    if too_long is not None:
        return Reply(too_long)
    header = pop.header
    _hold(pops, pop.request, header, partial(_attempt, pops, state, pop))
    if state.now > began:  # messages that arrived during the disk read did not wake the pop
        pops.wake_soon((header.consumer_group, header.topic, header.queue_id))
    return ANSWERED_LATER


def _attempt(pops: Pops, state: State, pop: Pop, is_end: bool) -> Task[Reply | None]:
    """Try the pop again; its permissions are checked again because they may have changed."""
    checked = _checked(state, pop.request, pop.header)
    if isinstance(checked, Reply):
        return checked
    reply = yield from popping.attempt(state, pops, checked)
    if reply is None and is_end:
        return popping.nothing(state, checked, ResponseCode.POLLING_TIMEOUT)
    return reply


def _cannot_wait(pops: Pops, request: Request, poll_ms: int) -> ResponseCode | None:
    if poll_ms <= 0:
        return ResponseCode.POLLING_TIMEOUT
    has_room = pops.waiting.has_room(request)
    return None if has_room else ResponseCode.POLLING_FULL


def _hold(
    pops: Pops, request: Request, header: PopMessageRequest | NotificationRequest, attempt: Attempt
) -> None:
    place = (header.consumer_group, header.topic, header.queue_id)
    pops.waiting.add(request, place, header.poll_time, attempt)


# ---------------------------------------------------------------------- permission checks


def _checked(state: State, request: Request, header: PopMessageRequest) -> Pop | Reply:
    """Return the pop, or its refusal; the checks are in Java's order."""
    if not state.settings.broker_permission & Permission.READ:
        return _broker_forbids(state, "pop message")
    fault = _fault(state, header)
    if fault is not None:
        return refused(ResponseCode.INVALID_PARAMETER, fault)
    topic = _topic(state, request, header)
    if isinstance(topic, Reply):
        return topic
    choice = ALL
    if header.exp:
        choice_or_refusal = brought(state, header.exp_type or EXPRESSION_TAG, header.exp)
        if not isinstance(choice_or_refusal, Choice):
            return choice_or_refusal
        choice = choice_or_refusal
    return Pop(request, header, topic.read_queue_nums, choice)


def _fault(state: State, header: PopMessageRequest) -> str | None:
    host = state.identity.address.rpartition(":")[0]
    if header.max_msg_nums > MESSAGES_MAX:
        return (
            f"the broker[{host}] pop message's num is greater than {MESSAGES_MAX}: it is"
            f" {header.max_msg_nums}"
        )
    if header.max_msg_nums < 1:
        return f"the broker[{host}] pop message's num is {header.max_msg_nums}, less than 1"
    if not 0 <= header.invisible_time <= INVISIBLE_MS_MAX:
        return invisible_fault(header.invisible_time)
    attempt = header.attempt_id or ""
    if len(attempt) > ATTEMPT_CHARACTERS_MAX:
        return (
            f"attemptId has {len(attempt)} characters, {ATTEMPT_CHARACTERS_MAX} are allowed: a"
            " number that no other attempt has will do"
        )
    again = pop_handles.retry_topic(header.consumer_group, header.topic)
    if len(again) > GROUP_CHARACTERS_MAX:
        return (
            f"group and topic have {len(again)} characters together in {again}, where the group"
            f" would get messages again; {GROUP_CHARACTERS_MAX} are allowed: shorten one of them"
        )
    if state.topics.find(again) is None and not topic_creation.has_room(state):
        return (
            f"there is no room for topic {again}, where the group would get messages again: the"
            f" broker has {len(state.topics)} topics; delete some with mqadmin deleteTopic"
        )
    return None


def invisible_fault(invisible_ms: int) -> str:
    return (
        f"invisibleTime is {invisible_ms} ms: a message is out for 0 to {INVISIBLE_MS_MAX} ms;"
        " change it again where that is too short"
    )


def _broker_forbids(state: State, what: str) -> Reply:
    address = state.identity.address
    return refused(
        ResponseCode.NO_PERMISSION,
        f"the broker[{address.rpartition(':')[0]}] {what} is forbidden: brokerPermission is"
        f" {state.settings.broker_permission}; mqadmin updateBrokerConfig -b {address} -k"
        " brokerPermission -v 6 allows it",
    )


def _topic(state: State, request: Request, header: _Asked) -> TopicConfig | Reply:
    """Return the topic if the group may consume it; creates the group where that is allowed."""
    name, address = header.topic, state.identity.address
    topic = state.topics.find(name)
    if topic is None:
        return refused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"topic[{name}] not exist, apply first please! Create it with mqadmin updateTopic"
            f" -b {address} -t {name}",
        )
    if not topic.perm & Permission.READ:
        return refused(
            ResponseCode.NO_PERMISSION,
            f"the topic[{name}] peeking message is forbidden: its perm is {topic.perm}; mqadmin"
            f" updateTopicPerm -b {address} -t {name} -p 6 allows it",
        )
    if header.queue_id >= topic.read_queue_nums:
        return refused(
            ResponseCode.INVALID_PARAMETER,
            f"queueId[{header.queue_id}] is illegal, topic:[{name}]"
            f" topicConfig.readQueueNums:[{topic.read_queue_nums}]"
            f" consumer:[/{request.channel.peer}]",
        )
    return _group_refusal(state, header.consumer_group) or topic


def _group_refusal(state: State, name: str) -> Reply | None:
    if name == TRANSACTION_GROUP:
        return refused(ResponseCode.NO_PERMISSION, TRANSACTIONS_OWN)
    group = ensure_group(state, name)
    if group is None:
        return refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, why_no_group(state, name))
    if group.consume_enable:
        return None
    return refused(
        ResponseCode.NO_PERMISSION,
        f"subscription group no permission, {name}: consumeEnable is off; switch it on with"
        f" mqadmin updateSubGroup -b {state.identity.address} -g {name} -s true",
    )


# ---------------------------------------------------------------------- peeking


def peek_message(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = PeekMessageRequest.decode(request.command.ext)
    if not state.settings.broker_permission & Permission.READ:
        return _broker_forbids(state, "peeking message")
    topic = _topic(state, request, header)
    if isinstance(topic, Reply):
        return topic
    return peeking.peek(state, request, header, topic.read_queue_nums)


def notification(pops: Pops, state: State, request: Request) -> Outcome:
    """Answer whether there are messages; wait for some as long as the request allows."""
    header = NotificationRequest.decode(request.command.ext)
    reply = _noticed(pops, state, request, header)
    if reply is not None:
        return reply
    code = _cannot_wait(pops, request, header.poll_time)
    if code is not None:
        is_full = code is ResponseCode.POLLING_FULL
        return done(NotificationResponse(has_msg=False, polling_full=is_full or None))
    too_long = waiting_request_memory.too_long(request)
    if too_long is not None:
        return Reply(too_long)
    _hold(pops, request, header, partial(_look_out, pops, state, request, header))
    return ANSWERED_LATER


def _noticed(
    pops: Pops, state: State, request: Request, header: NotificationRequest
) -> Reply | None:
    if not state.settings.broker_permission & Permission.READ:
        return _broker_forbids(state, "peeking message")
    topic = _topic(state, request, header)
    if isinstance(topic, Reply):
        return topic
    if peeking.has_messages(state, pops.orders, header, topic.read_queue_nums):
        return done(NotificationResponse(has_msg=True))
    return None


def _look_out(
    pops: Pops, state: State, request: Request, header: NotificationRequest, is_end: bool
) -> Task[Reply | None]:
    yield from ()
    reply = _noticed(pops, state, request, header)
    return done(NotificationResponse(has_msg=False)) if reply is None and is_end else reply


def polling_info(pops: Pops, state: State, request: Request) -> Outcome:
    header = PollingInfoRequest.decode(request.command.ext)
    count = pops.waiting.count(header.consumer_group, header.topic, header.queue_id)
    return done(PollingInfoResponse(polling_num=count))


HANDLERS: Final[Handlers] = {
    RequestCode.PEEK_MESSAGE: peek_message,
}

BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.POP_MESSAGE: lambda services: partial(pop_message, services.pops),
    RequestCode.NOTIFICATION: lambda services: partial(notification, services.pops),
    RequestCode.POLLING_INFO: lambda services: partial(polling_info, services.pops),
}
