"""Resets of offsets by request."""

from __future__ import annotations

from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.fakes.brokers.broker import IDENTITY, START_MS, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS, PulledBroker
from gantrymq.fakes.brokers.replicas import SLAVE
from gantrymq.fakes.stores.store import message
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.heartbeat import ConsumerData
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import LanguageCode, RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import ResetOffsetRequest, UpdateConsumerOffsetRequest
from gantrymq.wire.javajson import loads
from gantrymq.wire.jsonvalue import object_of
from gantrymq.wire.version import OWN_VERSION, V4_9_8

BY_CLIENTS = BrokerSettings(use_server_side_reset_offset=False)


def failed(error: Exception) -> None:
    raise error


def opened(settings: BrokerSettings | None = None, identity: Identity = IDENTITY) -> OpenedBroker:
    """With a message each second in the first of two queues, the first after a second."""
    broker = OpenedBroker(settings, identity=identity)
    broker.state.topics.put(TopicConfig("T", 2, 2), 1)
    broker.state.groups.put(GroupConfig(group_name="g"), 1)
    for number in range(5):
        broker.pass_time(1.0)
        broker.state.task_runner.start(tasks.put(message(number)), lambda _: None, failed)
        broker.settle()
    return broker


def reset(
    broker: OpenedBroker,
    timestamp: int,
    *,
    is_force: bool = True,
    queue_id: int | None = None,
    offset: int | None = None,
    topic: str = "T",
    group: str = "g",
    language: int = LanguageCode.JAVA,
) -> Command:
    header = ResetOffsetRequest(
        topic=topic,
        group=group,
        timestamp=timestamp,
        is_force=is_force,
        queue_id=queue_id,
        offset=offset,
    )
    request = broker.send(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header, language=language)
    answer = broker.answer(request)
    assert answer is not None
    return answer


def offsets_in(command: Command) -> dict[int, int]:
    body = ResetOffsetBody.from_json(loads(command.body))
    return {queue.queue_id: offset for queue, offset in body.offsets.items()}


def join(
    broker: OpenedBroker, version: int = OWN_VERSION, language: int = LanguageCode.JAVA
) -> FakeChannel:
    """A consumer of the group comes online."""
    channel = FakeChannel()
    client = Client(channel, channel.peer, language, version, broker.now, broker.wall_ms)
    broker.state.clients.add_consumer(ConsumerData(group_name="g"), client)
    return channel


def test_a_time_becomes_the_first_message_from_then_on() -> None:
    broker = opened()
    for timestamp, offset in (
        (START_MS + 2000, 1),
        (START_MS + 2001, 2),
        (0, 0),
        (START_MS + 99_000, 5),
        (-1, 5),
    ):
        answer = reset(broker, timestamp)
        assert (answer.code, offsets_in(answer)) == (0, {0: offset, 1: 0})
        assert broker.state.resets.pending("g", "T", 0) == offset


def test_reset_is_saved_and_logged_before_it_is_answered() -> None:
    broker = opened()
    broker.state.offsets.commit("g", "T", 0, 4, due=1000.0)
    reset(broker, START_MS + 2000)
    again = OpenedBroker(files=broker.saved, identity=SLAVE)  # which has no log, and needs none
    assert again.state.offsets.find("g", "T", 0) == 1
    line = next(line.text for line in broker.lines if line.text.startswith("Reset offset, "))
    for part in ("topic=T", "group=g", "0: 4 -> 1", broker.channel.peer):
        assert part in line


def test_commit_before_the_consumer_knows_of_the_reset_is_ignored() -> None:
    broker = opened()
    reset(broker, 0)
    commit = UpdateConsumerOffsetRequest(consumer_group="g", topic="T", queue_id=0, commit_offset=4)
    broker.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    assert broker.state.offsets.find("g", "T", 0) == 0
    assert broker.state.resets.take("g", "T", 0) == 0
    broker.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    assert broker.state.offsets.find("g", "T", 0) == 4


def test_one_queue_is_reset_to_an_offset() -> None:
    broker = opened()
    assert offsets_in(reset(broker, 0, queue_id=0, offset=3)) == {0: 3}
    assert broker.state.resets.pending("g", "T", 1) is None
    assert offsets_in(reset(broker, START_MS + 2000, queue_id=0, offset=-1)) == {0: 1}
    answer = reset(broker, 0, queue_id=0, offset=6)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "Target offset 6 not in consume queue range [0-5]"


def test_offset_for_all_queues_is_ignored() -> None:
    assert offsets_in(reset(opened(), -1, queue_id=-1, offset=3)) == {0: 5, 1: 0}


def test_reset_of_an_unknown_topic_group_or_queue_is_refused() -> None:
    broker = opened()
    answer = reset(broker, 0, topic="U")
    assert (answer.code, answer.remark) == (17, "Topic U does not exist")
    answer = reset(broker, 0, group="h")
    assert (answer.code, answer.remark) == (26, "Group h does not exist")
    assert (reset(broker, 0, queue_id=2).remark or "").startswith("No queues to reset.")
    slave = Identity("broker-a", "DefaultCluster", 1, "127.0.0.1:10911", "127.0.0.1:10912")
    answer = reset(opened(identity=slave), 0)
    assert (answer.code, answer.remark) == (1, "Can not reset offset in slave broker")
    assert not broker.state.offsets.topics_of("g")


def test_older_clients_are_notified_at_once() -> None:
    broker = opened()
    newer, older, cpp = join(broker), join(broker, V4_9_8), join(broker, V4_9_8, LanguageCode.CPP)
    reset(broker, START_MS + 2000)
    assert not newer.told
    for channel in (older, cpp):
        (told,) = channel.told
        assert told.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET
        assert told.is_oneway
        assert told.ext == {
            "topic": "T",
            "group": "g",
            "timestamp": str(START_MS + 2000),
            "isForce": "true",
        }
        assert offsets_in(told) == {0: 1, 1: 0}
    table = object_of(loads(cpp.told[0].body), "body")["offsetTable"]
    assert isinstance(table, list)


def test_reset_by_clients_moves_forward_only_when_forced() -> None:
    broker = opened(BY_CLIENTS)
    channel = join(broker)
    broker.state.offsets.commit("g", "T", 0, 3)
    broker.state.offsets.commit("g", "T", 1, 0)
    assert offsets_in(reset(broker, -1, is_force=False)) == {0: 3, 1: 0}
    assert offsets_in(reset(broker, 0, is_force=False)) == {0: 0, 1: 0}
    assert offsets_in(reset(broker, -1)) == {0: 5, 1: 0}
    assert [offsets_in(told)[0] for told in channel.told] == [3, 0, 5]
    assert broker.state.resets.pending("g", "T", 0) is None
    assert broker.state.offsets.find("g", "T", 0) == 3


def test_reset_by_clients_is_refused_when_no_client_is_connected() -> None:
    broker = opened(BY_CLIENTS)
    answer = reset(broker, 0)
    assert (answer.code, answer.remark) == (1, "THe consumer group <g> not exist")
    for queue_id in (0, 1):
        broker.state.offsets.commit("g", "T", queue_id, 0)
    answer = reset(broker, 0)
    assert answer.code == ResponseCode.CONSUMER_NOT_ONLINE
    assert (answer.remark or "").startswith(
        "Consumer not online, so can not reset offset, Group: g"
    )
    assert reset(broker, 0, topic="U").code == ResponseCode.TOPIC_NOT_EXIST


def test_4_9_tells_cpp_clients_in_their_form_when_the_tool_says_so() -> None:
    broker = opened(BY_CLIENTS)
    channel = join(broker)
    for queue_id in (0, 1):
        broker.state.offsets.commit("g", "T", queue_id, 0)
    answer = reset(broker, -1, language=LanguageCode.CPP)
    table = object_of(loads(channel.told[0].body), "body")["offsetTable"]
    assert isinstance(table, list)
    assert offsets_in(answer) == offsets_in(channel.told[0]) == {0: 5, 1: 0}


def test_held_pull_is_answered_at_once_after_a_reset() -> None:
    broker = opened()
    waiting = PulledBroker(broker).send(5, sys_flag=SUSPENDS | SUBSCRIBES, consumer_group="g")
    assert broker.is_held(waiting)
    reset(broker, START_MS)
    answer = broker.answer(waiting)
    assert answer is not None
    assert answer.code == ResponseCode.PULL_OFFSET_MOVED
