"""Validates one pull, reads its messages and builds the answer.

    SUCCESS                 messages, concatenated as they are in the log
    PULL_NOT_FOUND          nothing yet; the pull is held, or stays held, if it asks for that
    PULL_RETRY_IMMEDIATELY  the filter matches nothing, or the log lost it: continue after it
    PULL_OFFSET_MOVED       the queue begins later or ends before: continue at the given offset

A slave does not answer PULL_OFFSET_MOVED, unless offsetCheckInSlave is set: messages that it lacks
may be at its master, or still on the way to it.

Each answer has the offset to continue from; its remark is the name of the store's pull status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.base.bounds import FRAME_BYTES_MAX
from gantrymq.base.disk import DiskError
from gantrymq.broker.core.engine.tasks import Task, read
from gantrymq.broker.core.messages import Reply, Request
from gantrymq.broker.core.pull.subscriptions import Choice, choice_of, forbidden
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.state import State
from gantrymq.store.read.async_reader import FilterRest, ReadTask, Wanted
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import FOUND, Pulled, PullQuery, PullStatus
from gantrymq.store.read.readable_store import readable_end_now
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import Permission, TopicConfig
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest

MASTER_ID: Final = 0

OFFSET_RESET: Final = "OFFSET_RESET"

# A field that RocketMQ does not have. A consumer that sets it to "true" reads in bulk, by
# maxMsgNums and maxMsgBytes up to the store's limits for bulk reads.
BULK_FIELD: Final = "bulk"

# Plain numbers and texts, because access to enum members would dominate the time of these checks.
_READ: Final = int(Permission.READ)
_WORDS: Final[Mapping[PullStatus, str]] = {status: status.name for status in PullStatus}

_CODES: Final[Mapping[PullStatus, ResponseCode]] = {
    PullStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    PullStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    PullStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    PullStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    PullStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    PullStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}


@final
class Pull:
    """A validated pull. Created for every pull, hence slotted and not frozen."""

    __slots__ = ("choice", "group", "header", "request", "topic")

    def __init__(
        self,
        request: Request,
        header: PullMessageRequest,
        group: GroupConfig,
        topic: TopicConfig,
        choice: Choice,
    ) -> None:
        self.request: Request = request
        self.header: PullMessageRequest = header
        self.group: GroupConfig = group
        self.topic: TopicConfig = topic
        self.choice: Choice = choice


def checked(state: State, request: Request, header: PullMessageRequest) -> Pull | Reply:
    """Return the validated pull, or the answer instead: a refusal, or the offset to which an
    administrator reset the group. The checks are in Java's order."""
    refusal = broker_refusal(state)
    if refusal is not None:
        return refusal
    group = state.groups.find(header.consumer_group)
    if group is None:
        return refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group [{header.consumer_group}] does not exist any more",
        )
    if not group.consume_enable:
        return forbidden(
            2,
            f"subscription group no permission, {group.group_name}: consumeEnable is off; switch"
            f" it on with mqadmin updateSubGroup -b {state.identity.address}"
            f" -g {group.group_name} -s true",
        )
    topic = _topic(state, request, header)
    if isinstance(topic, Reply):
        return topic
    choice = choice_of(state, header, group)
    if isinstance(choice, Reply):
        return choice
    pull_ = Pull(request, header, group, topic, choice)
    reset = state.resets.take(header.consumer_group, header.topic, header.queue_id)
    if reset is not None and state.settings.use_server_side_reset_offset:
        return _moved_to(state, pull_, reset)
    return pull_


def broker_refusal(state: State) -> Reply | None:
    """The refusal of all pulls by a broker without read permission, else None."""
    permission = state.settings.broker_permission
    if permission & _READ:
        return None
    address = state.identity.address
    return forbidden(
        1,
        f"the broker[{address.rpartition(':')[0]}] pulling message is forbidden: brokerPermission"
        f" is {permission}; mqadmin updateBrokerConfig -b {address} -k brokerPermission -v 6"
        " allows it",
    )


def _topic(state: State, request: Request, header: PullMessageRequest) -> TopicConfig | Reply:
    name = header.topic
    topic = state.topics.find(name)
    if topic is None:
        return refused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"topic[{name}] not exist, apply first please! Create it with mqadmin updateTopic"
            f" -b {state.identity.address} -t {name}",
        )
    if not topic.perm & _READ:
        return forbidden(
            3,
            f"the topic[{name}] pulling message is forbidden: its perm is {topic.perm}; mqadmin"
            f" updateTopicPerm -b {state.identity.address} -t {name} -p 6 allows it",
        )
    if not 0 <= header.queue_id < topic.read_queue_nums:
        return refused(
            ResponseCode.INVALID_PARAMETER,
            f"queueId[{header.queue_id}] is illegal, topic:[{name}]"
            f" topicConfig.readQueueNums:[{topic.read_queue_nums}]"
            f" consumer:[/{request.channel.peer}]",
        )
    return topic


# ---------------------------------------------------------------------- reading


def reading(state: State, pull_: Pull, offset: int) -> ReadTask[Pulled]:
    """A reading of the messages from this offset on."""
    header = pull_.header
    query = PullQuery(
        header.topic,
        header.queue_id,
        offset,
        header.max_msg_nums,
        pull_.choice.tags,
        pull_.choice.matches,
        state.store.filter_meter,
        keeps_offset=not _corrects(state),
        bulk_bytes_max=_bulk_bytes_max(pull_),
    )
    return pull(state.store, query, state.memory_bytes)


def _bulk_bytes_max(pull_: Pull) -> int:
    """The bytes that a bulk reader asks for; 0 for every other consumer."""
    ext = pull_.request.command.ext
    if ext is None or ext.get(BULK_FIELD) != "true":
        return 0
    return pull_.header.max_msg_bytes or FRAME_BYTES_MAX


def begun(reading: ReadTask[Pulled]) -> Pulled | ReadTask[Pulled]:
    """Start a reading: return its result, which is mostly in memory, or the rest to be run.

    Raises DiskError and CorruptionError as the reading does.
    """
    try:
        missing = reading.send(None)
    except StopIteration as stop:
        result: Pulled = stop.value
        return result
    return _rest(reading, missing)


def _rest(reading: ReadTask[Pulled], missing: Wanted | FilterRest | None) -> ReadTask[Pulled]:
    """Wrap a started reading, so that its caller can start it as if it were new."""
    try:
        while True:
            try:
                data = yield missing
            except DiskError as error:
                missing = reading.throw(error)
            else:
                missing = reading.send(data)
    except StopIteration as stop:
        result: Pulled = stop.value
        return result


def read_rest(state: State, rest: ReadTask[Pulled]) -> Task[Pulled]:
    """Complete a reading that has to wait for the disk, and record how long it took."""
    began = state.now
    found = yield from read(rest)
    state.stats.read_took(state.now - began)
    return found


# ---------------------------------------------------------------------- answers


def code_of(pulled: Pulled, asked_offset: int) -> ResponseCode:
    """The response code for a pull of this offset."""
    if pulled.status is FOUND:
        return ResponseCode.SUCCESS
    code = _CODES.get(pulled.status)
    if code is not None:
        return code
    # The queue has no messages and never had any.
    return ResponseCode.PULL_OFFSET_MOVED if asked_offset else ResponseCode.PULL_NOT_FOUND


def may_come(state: State, pulled: Pulled, asked_offset: int) -> bool:
    """Whether a message for this offset may arrive later, so that the pull can be held."""
    code = code_of(pulled, asked_offset)
    if code is ResponseCode.PULL_OFFSET_MOVED:
        return not _corrects(state)
    return code is ResponseCode.PULL_NOT_FOUND


def _corrects(state: State) -> bool:
    """Whether consumers get PULL_OFFSET_MOVED.

    A slave may lack what its master has, and is asked for messages that it does not have yet. It
    holds such pulls, where Java's slave answers code 20. A newly elected master does the same until
    it may show all that its predecessor showed.
    """
    return state.serves or state.settings.offset_check_in_slave


def response(state: State, pull_: Pull, pulled: Pulled) -> Command:
    """The answer to the pull; updates the statistics."""
    header, status = pull_.header, pulled.status
    code = code_of(pulled, header.queue_offset)
    suggested = _suggested(state, pull_.group, is_slow=pulled.suggests_slave)
    if code is ResponseCode.PULL_OFFSET_MOVED:
        if not _corrects(state):
            code = ResponseCode.PULL_RETRY_IMMEDIATELY
            suggested = pull_.group.broker_id
        _log_moved(state, pull_, pulled)
    # Java creates the queue when it is asked for, so clients only know queues without messages.
    if status is PullStatus.NO_MATCHED_LOGIC_QUEUE:
        status = PullStatus.NO_MESSAGE_IN_QUEUE
    state.offsets.note_pull(
        header.consumer_group, header.topic, header.queue_id, pulled.next_offset
    )
    if code is ResponseCode.SUCCESS:
        state.stats.got(header.consumer_group, header.topic, pulled.count, pulled.size)
        if state.quotas.is_on:
            group, size = header.consumer_group, pulled.size
            state.quotas.gate.consumed(pull_.request, header.topic, group, size)
    else:
        state.stats.missed()
    ext = _places(pull_, suggested, pulled.next_offset, pulled.minimum, pulled.maximum)
    return Command(code, ext=ext, body=b"".join(pulled.chunks), remark=_WORDS[status])


def _moved_to(state: State, pull_: Pull, offset: int) -> Reply:
    """Tell the consumer to continue at this offset, because an administrator reset the group's."""
    return Reply(_sent_to(state, pull_, offset, ResponseCode.PULL_OFFSET_MOVED, OFFSET_RESET))


def asked_anew(state: State, pull_: Pull) -> Command:
    """Tell the consumer to repeat its pull from the same offset."""
    state.stats.missed()
    code, remark = ResponseCode.PULL_RETRY_IMMEDIATELY, _WORDS[PullStatus.NO_MATCHED_MESSAGE]
    return _sent_to(state, pull_, pull_.header.queue_offset, code, remark)


def _sent_to(state: State, pull_: Pull, offset: int, code: ResponseCode, remark: str) -> Command:
    """An answer that only says at which offset to continue."""
    header = pull_.header
    queue = state.store.queues.find(header.topic, header.queue_id)
    suggested = _suggested(state, pull_.group, is_slow=False)
    minimum = maximum = 0
    if queue is not None:
        minimum, maximum = queue.minimum, readable_end_now(queue, state.store.readable)
    ext = _places(pull_, suggested, offset, minimum, maximum)
    return Command(code, ext=ext, remark=remark)


def _places(
    pull_: Pull, suggested: int, next_offset: int, minimum: int, maximum: int
) -> dict[str, str]:
    """The ext fields of a PullMessageResponse, built directly because every answer needs them."""
    return {
        "suggestWhichBrokerId": str(suggested),
        "nextBeginOffset": str(next_offset),
        "minOffset": str(minimum),
        "maxOffset": str(maximum),
        "topicSysFlag": str(pull_.topic.topic_sys_flag),
        "groupSysFlag": str(pull_.group.group_sys_flag),
    }


def _suggested(state: State, group: GroupConfig, *, is_slow: bool) -> int:
    """The id of the broker to pull from next."""
    if not state.settings.slave_read_enable:
        return MASTER_ID
    return group.which_broker_when_consume_slowly if is_slow else group.broker_id


def _log_moved(state: State, pull_: Pull, pulled: Pulled) -> None:
    header = pull_.header
    state.effects.warning(
        f"PULL_OFFSET_MOVED:correction offset. topic={header.topic}, queueId={header.queue_id},"
        f" groupId={header.consumer_group}, requestOffset={header.queue_offset},"
        f" newOffset={pulled.next_offset}, {pulled.status.value}, client"
        f" {pull_.request.channel.peer}"
    )
