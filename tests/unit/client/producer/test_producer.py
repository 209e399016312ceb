"""A producer's flows, against a broker's core."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gantrymq.client.core.errors import BrokerError, MessageError, StateError
from gantrymq.client.core.instance.hooks import SendContext
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.producer.producer import ProducerCore, must_be_group
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.selecting import by_key
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.flows import Held
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode


def started(cluster: Cluster, group: str = "G") -> ProducerCore:
    core = ProducerCore(cluster.instance, group, ProducerSettings())
    cluster.run(core.start())
    return core


def test_a_selector_sees_the_queues_and_chooses() -> None:
    cluster = Cluster("a")
    core = started(cluster)
    seen: list[Sequence[MessageQueue]] = []

    async def third(queues: Sequence[MessageQueue], message: Message, key: object) -> MessageQueue:
        assert (message.body, key) == (b"x", "k")
        seen.append(queues)
        return queues[2]

    result = cluster.run(core.send(Message("T", b"x"), select=third, key="k"))
    assert result.queue.queue_id == 2
    assert [queue.queue_id for queue in seen[0]] == [0, 1, 2, 3]
    same = [
        cluster.run(core.send(Message("T", b"x"), select=by_key, key="k")).queue for _ in range(3)
    ]
    assert len(set(same)) == 1


def test_contradictory_arguments_are_refused() -> None:
    cluster = Cluster("a")
    core = started(cluster)
    message, queue = Message("T", b"x"), MessageQueue("T", "a", 0)
    with pytest.raises(MessageError, match="not both"):
        cluster.run(core.send(message, queue=queue, select=by_key, key=1))
    with pytest.raises(MessageError, match="a key is for a selector"):
        cluster.run(core.send(message, key=1))
    with pytest.raises(MessageError, match="message's topic not equal mq's topic"):
        cluster.run(core.send(message, queue=MessageQueue("U", "a", 0)))
    with pytest.raises(MessageError, match="select queue return null"):
        cluster.run(core.send(message, select=lambda *_: None))  # type: ignore[arg-type]


def test_only_the_broker_sees_namespaces() -> None:
    cluster = Cluster("a", topics={"ns%T": 2})
    cluster.client(settings=ClientSettings(namespace="ns"))
    core = started(cluster)
    results = [
        cluster.run(core.send(Message("T", b"x"))),
        cluster.run(core.send(Message("T", b"x"), select=by_key, key=1)),
        cluster.run(core.send_batch([Message("T", b"x")])),
    ]
    batch = core.send_async(Message("T", b"x"))
    cluster.driver.pass_time(1.0)
    results.append(batch.result_of(0))
    assert {result.queue.topic for result in results} == {"T"}
    assert sum(len(cluster.brokers["a"].bodies("ns%T", n)) for n in range(2)) == 4
    assert tuple(cluster.instance.producers) == ("ns%G",)


def test_closing_sends_waiting_messages_and_unregisters() -> None:
    cluster = Cluster("a", topics={"T": 1})
    core = started(cluster)
    cluster.run(core.send(Message("T", b"first")))
    cluster.run(cluster.instance.heartbeat())
    core.send_async(Message("T", b"last"))
    cluster.run(core.close())
    assert cluster.brokers["a"].bodies("T") == [b"first", b"last"]
    assert len(cluster.asked_of(RequestCode.UNREGISTER_CLIENT)) == 1
    with pytest.raises(StateError, match="The producer service state not OK, SHUTDOWN_ALREADY"):
        core.send_async(Message("T", b"late"))


def test_lifecycle_errors_have_javas_texts() -> None:
    cluster = Cluster("a", topics={"T": 1})
    core = ProducerCore(cluster.instance, "G", ProducerSettings())
    with pytest.raises(StateError, match="The producer service state not OK, CREATE_JUST"):
        cluster.run(core.send(Message("T", b"x")))
    cluster.run(core.start())
    with pytest.raises(StateError, match="maybe started once"):
        cluster.run(core.start())
    with pytest.raises(StateError, match=r"producer group\[G\] has been created before"):
        started(cluster)


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("", "blank"),
        ("DEFAULT_PRODUCER", "producerGroup can not equal DEFAULT_PRODUCER"),
        ("a b", "illegal characters"),
        ("x" * 256, "longer than group max length 255"),
    ],
)
def test_invalid_group_names_are_refused(group: str, text: str) -> None:
    with pytest.raises(StateError, match=text):
        must_be_group(group)


def test_a_delayed_message_is_recalled() -> None:
    cluster = Cluster("a", topics={"T": 1})
    core = started(cluster)
    result = cluster.run(core.send(Message("T", b"x", delay_s=3600.0)))
    assert result.recall_handle
    assert cluster.run(core.recall(result)) == result.message_id
    plain = cluster.run(core.send(Message("T", b"x")))
    with pytest.raises(MessageError, match="gave no recall_handle"):
        cluster.run(core.recall(plain))


def test_a_refused_recall_is_raised() -> None:
    cluster = Cluster("a", topics={"T": 1})
    core = started(cluster)
    result = cluster.run(core.send(Message("T", b"x", delay_s=1.0)))
    cluster.pass_time(30.0)
    with pytest.raises(BrokerError):
        cluster.run(core.recall(result))


class Watch:
    """A send hook that notes what it sees."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bool | None]] = []

    def before_send(self, context: SendContext) -> None:
        self.seen.append(("before", context.queue.broker_name, None))

    def after_send(self, context: SendContext) -> None:
        self.seen.append(("after", context.queue.broker_name, context.error is None))
        raise ValueError("hooks may be broken")


def test_hooks_see_every_attempt_and_their_errors_are_contained() -> None:
    cluster = Cluster("a", "b")
    watch = Watch()
    core = ProducerCore(cluster.instance, "G", ProducerSettings(), [watch])
    cluster.run(core.start())
    cluster.faults[cluster.address("a")] = gone
    while len(watch.seen) < 4:
        watch.seen.clear()
        assert cluster.run(core.send(Message("T", b"x"))).queue.broker_name == "b"
    assert watch.seen == [
        *(("before", "a", None), ("after", "a", False)),
        *(("before", "b", None), ("after", "b", True)),
    ]
    assert "a hook raised ValueError" in cluster.driver.lines[-1]


def test_sends_in_flight_fail_when_the_producer_closes() -> None:
    """Its connections end with it, so that no server can be reached."""
    cluster = Cluster("a")
    core = started(cluster)
    held = Held()
    cluster.faults[RequestCode.SEND_MESSAGE_V2] = lambda address, command: held
    errors: list[Exception] = []

    async def send() -> None:
        try:
            await core.send(Message("T", b"x"))
        except StateError as error:
            errors.append(error)

    cluster.driver.start(send(), "send")
    cluster.driver.settle()
    cluster.run(core.close())
    cluster.faults[RequestCode.SEND_MESSAGE_V2] = gone
    held.give(ConnectError("the connection was closed"))
    cluster.driver.settle()
    assert str(errors[0]).startswith("the producer was closed before a broker acknowledged")
