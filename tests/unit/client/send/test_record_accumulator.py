"""Messages that wait for each other, in virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import pytest

from gantrymq.client.core.errors import MessageError, SendError
from gantrymq.client.core.instance.hooks import SendContext, SendHook
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.producer_batch import Batch
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.record_accumulator import (
    SENDS_MAX,
    RecordAccumulator,
    WaitingFullError,
)
from gantrymq.client.core.send.sending import Sender
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.flows import Late
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command


def accumulator(
    cluster: Cluster, hooks: Sequence[SendHook] = (), **settings: object
) -> RecordAccumulator:
    made = ProducerSettings(**{"linger_s": 0.1, **settings})  # type: ignore[arg-type]
    return RecordAccumulator(Sender(cluster.instance, "G", made, hooks), "")


def sent(cluster: Cluster) -> int:
    return len(cluster.asked_of(RequestCode.SEND_BATCH_MESSAGE))


def late_by(cluster: Cluster, seconds: Iterator[float]) -> Callable[[str, Command], Late]:
    """For `faults`: each request is served at once, and answered after so many seconds."""

    def answer(address: str, command: Command) -> Late:
        del cluster.faults[address]
        answered = cluster.served(address, command)
        cluster.faults[address] = answer
        assert isinstance(answered, Command)
        return Late(answered, next(seconds))

    return answer


def test_messages_added_together_are_sent_in_one_batch() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster)
    batches = [waiting.add(Message("T", b"%d" % n)) for n in range(5)]
    cluster.driver.pass_time(0.09)
    assert sent(cluster) == 0
    cluster.driver.pass_time(0.02)
    assert sent(cluster) == 1
    assert len(set(map(id, batches))) == 1
    results = [batches[0].result_of(n) for n in range(5)]
    assert [result.queue_offset for result in results] == [0, 1, 2, 3, 4]
    assert [result.message_id for result in results] == batches[0].ids
    assert len({result.offset_message_id for result in results} - {""}) == 5
    assert waiting.waiting_bytes == 0


@pytest.mark.parametrize("bound", [{"batch_messages_max": 3}, {"batch_bytes_max": 200}])
def test_a_full_batch_is_sent_at_once(bound: dict[str, int]) -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, (), **bound)
    for _ in range(7):
        waiting.add(Message("T", b"x" * 20))
    cluster.driver.settle()
    assert sent(cluster) >= 2
    cluster.driver.pass_time(0.2)
    assert len(cluster.brokers["a"].bodies("T")) == 7


def test_topics_queues_and_safety_do_not_mix() -> None:
    cluster = Cluster("a", topics={"T": 2, "U": 1})
    waiting = accumulator(cluster)
    batches = {
        waiting.add(Message("T", b"x")),
        waiting.add(Message("U", b"x")),
        waiting.add(Message("T", b"x"), MessageQueue("T", "a", 1)),
        waiting.add(Message("T", b"x", wait_until_stored=False)),
    }
    assert len(batches) == 4
    cluster.run(waiting.flush())
    assert sent(cluster) == 4


@pytest.mark.parametrize(
    "message",
    [Message("T", b"x" * 5000), Message("T", b"x", delay_level=1), Message("%RETRY%G", b"x")],
)
def test_messages_that_cannot_be_batched_are_sent_alone(message: Message) -> None:
    cluster = Cluster("a", topics={"T": 1, "%RETRY%G": 1})
    waiting = accumulator(cluster)
    batch = waiting.add(message)
    cluster.driver.settle()
    assert batch.result_of(0).message_id
    assert len(cluster.asked_of(RequestCode.SEND_MESSAGE_V2)) == 1
    assert waiting.waiting_bytes == 0


def test_flush_waits_for_all_that_was_added() -> None:
    cluster = Cluster("a")
    waiting = accumulator(cluster, batch_messages_max=10, linger_s=60.0)
    batches = [waiting.add(Message("T", b"x")) for _ in range(95)]
    cluster.run(waiting.flush())
    assert all(batch.is_over for batch in batches)
    assert sum(len(cluster.brokers["a"].bodies("T", n)) for n in range(4)) == 95


def test_waiting_bytes_are_bounded() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, waiting_bytes_max=2000)
    message = Message("T", b"x" * 100)
    taken = 0
    while waiting.waiting_bytes < 2000:
        waiting.add(message)
        taken += 1
    with pytest.raises(WaitingFullError, match=r"await producer\.room"):
        waiting.add(message)
    cluster.run(waiting.room())
    assert waiting.waiting_bytes == 0
    assert len(cluster.brokers["a"].bodies("T")) == taken


def test_room_is_available_while_brokers_still_have_work() -> None:
    cluster = Cluster("a", topics={"T": 1})
    cluster.run(cluster.instance.route("T"))
    cluster.faults[cluster.address("a")] = late_by(cluster, itertools.count(1.0, 0.01))
    waiting = accumulator(cluster, waiting_bytes_max=160_000, batch_messages_max=1)
    while waiting.waiting_bytes < 160_000:
        waiting.add(Message("T", b"x" * 100))
    cluster.run(waiting.room())
    assert 146_000 < waiting.waiting_bytes <= 150_000
    cluster.run(waiting.flush())


def test_the_smallest_bound_admits_one_message() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, waiting_bytes_max=1)
    for _ in range(3):
        waiting.add(Message("T", b"x"))
        with pytest.raises(WaitingFullError):
            waiting.add(Message("T", b"x"))
        cluster.run(waiting.room())
    assert waiting.waiting_bytes == 0


@pytest.mark.parametrize("delay_level", [0, 1])
def test_waiting_bytes_include_properties_and_overhead(delay_level: int) -> None:
    """Properties are memory, too, and a batch of one message is mostly the batch."""
    cluster = Cluster("a")
    waiting = accumulator(cluster)
    waiting.add(Message("T", b"x", delay_level=delay_level))
    assert waiting.waiting_bytes > 3_000
    waiting.add(Message("U", b"x", properties={"k": "v" * 9_000}, delay_level=delay_level))
    assert waiting.waiting_bytes > 15_000
    cluster.run(waiting.flush())


def test_waiting_bytes_include_messages_kept_for_hooks() -> None:
    class Hook(SendHook):
        def before_send(self, context: SendContext) -> None: ...

        def after_send(self, context: SendContext) -> None: ...

    sizes = []
    for hooks in ((), (Hook(),)):
        cluster = Cluster("a")
        waiting = accumulator(cluster, hooks)
        for _ in range(10):
            waiting.add(Message("T", b"x" * 1_000))
        sizes.append(waiting.waiting_bytes)
        cluster.run(waiting.flush())
    assert sizes[1] > sizes[0] + 10 * 1_000


def test_an_abandoned_batch_fails_without_a_send() -> None:
    cluster = Cluster("a")
    waiting = accumulator(cluster)
    batches = [waiting.add(Message("T", b"x", delay_level=n)) for n in range(2)]
    waiting.abandon()
    cluster.pass_time(1.0)
    for batch in batches:
        with pytest.raises(SendError, match="the producer was closed"):
            batch.result_of(0)
    assert waiting.waiting_bytes == 0
    assert not cluster.asked


def test_a_refused_message_is_not_logged_as_lost() -> None:
    cluster = Cluster("a")
    waiting = accumulator(cluster)
    with pytest.raises(MessageError):
        waiting.add(Message("T", b"x", properties={"a": "b" * 40_000}))
    cluster.run(waiting.flush())
    assert cluster.driver.lines == []
    assert waiting.waiting_bytes == 0


def test_a_failure_reaches_each_message_and_is_logged_if_unobserved() -> None:
    cluster = Cluster("a", topics={"T": 1})
    cluster.faults[cluster.address("a")] = gone
    waiting = accumulator(cluster)
    unwatched = waiting.add(Message("T", b"x"))
    cluster.driver.pass_time(1.0)
    with pytest.raises(SendError, match="no server listens"):
        unwatched.result_of(0)
    assert "messages not sent topic=T count=1" in cluster.driver.lines[-1]
    assert waiting.waiting_bytes == 0


def test_a_batch_is_retried_at_another_broker() -> None:
    cluster = Cluster("a", "b", topics={"T": 1})
    cluster.faults[cluster.address("a")] = lambda address, command: Command(
        ResponseCode.SYSTEM_BUSY
    )
    waiting = accumulator(cluster, batch_messages_max=1)
    batches = [waiting.add(Message("T", b"x")) for _ in range(4)]
    cluster.driver.pass_time(1.0)
    assert {batch.result_of(0).queue.broker_name for batch in batches} == {"b"}


def test_batches_to_one_queue_keep_their_order() -> None:
    cluster = Cluster("a", topics={"T": 1})
    queue = MessageQueue("T", "a", 0)
    cluster.run(cluster.instance.route("T"))
    slow = iter([0.5])

    def answer(address: str, command: Command) -> Command | Late:
        del cluster.faults[address]
        answered = cluster.served(address, command)
        cluster.faults[address] = answer
        assert isinstance(answered, Command)
        return Late(answered, next(slow, 0.0))

    cluster.faults[cluster.address("a")] = answer
    waiting = accumulator(cluster, batch_messages_max=1)
    for n in range(3):
        waiting.add(Message("T", b"%d" % n), queue)
    cluster.driver.pass_time(0.4)
    assert cluster.brokers["a"].bodies("T") == [b"0"]
    cluster.driver.pass_time(0.2)
    assert cluster.brokers["a"].bodies("T") == [b"0", b"1", b"2"]


def test_a_refused_message_does_not_affect_its_batch() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster)
    with pytest.raises(MessageError):
        waiting.add(Message("T", b"x", properties={"a": "b" * 40_000}))
    batch: Batch = waiting.add(Message("T", b"x"))
    cluster.driver.pass_time(1.0)
    assert batch.result_of(0).queue_offset == 0
    assert waiting.waiting_bytes == 0


@pytest.mark.parametrize("text", ["p" * 17_000, "é" * 10_000])
def test_messages_with_properties_that_a_broker_may_refuse_are_sent_alone(text: str) -> None:
    """A broker refuses the whole batch if it refuses one of its messages."""
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, message_bytes_max=16_384)
    first = waiting.add(Message("T", b"x"))
    long = waiting.add(Message("T", b"x", properties={"a": text}))
    assert waiting.add(Message("T", b"x")) is first
    assert (long.count, first.count) == (1, 2)
    cluster.driver.pass_time(1.0)
    assert long.result_of(0).message_id
    assert first.result_of(1).message_id


def test_properties_leave_room_for_those_of_brokers() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster)
    waiting.add(Message("T", b"x", properties={"a": "b" * 32_400}))
    with pytest.raises(MessageError, match="brokers leave room for"):
        waiting.add(Message("T", b"x", properties={"a": "b" * 32_700}))
    cluster.run(waiting.flush())
    assert len(cluster.brokers["a"].bodies("T")) == 1


def test_properties_fill_a_batch_as_bodies_do() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, batch_bytes_max=10_000)
    for _ in range(6):
        waiting.add(Message("T", b"x", properties={"a": "b" * 4_000}))
    waiting.add_many(Message("T", b"", properties={"a": "b" * 4_000}), [b"x"] * 6)
    cluster.run(waiting.flush())
    sizes = [
        len(command.body or b"") for command in cluster.asked_of(RequestCode.SEND_BATCH_MESSAGE)
    ]
    assert max(sizes) < 10_000
    assert len(cluster.brokers["a"].bodies("T")) == 12


def test_a_batch_that_is_over_keeps_no_messages() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster)
    alone = waiting.add(Message("T", b"x" * 50_000))
    cluster.run(waiting.flush())
    assert alone.result_of(0).message_id
    assert not alone.messages


def test_a_slow_broker_gets_no_more_sends_than_it_can_answer_in_time() -> None:
    cluster = Cluster("a", topics={"T": 1})
    cluster.run(cluster.instance.route("T"))
    address = cluster.address("a")

    asked = []

    def answer(address: str, command: Command) -> Command | Late:
        asked.append(command)
        del cluster.faults[address]
        answered = cluster.served(address, command)
        cluster.faults[address] = answer
        assert isinstance(answered, Command)
        return Late(answered, 2.0)

    cluster.faults[address] = answer
    waiting = accumulator(cluster, batch_messages_max=1)
    batches = [waiting.add(Message("T", b"x")) for _ in range(3 * SENDS_MAX)]
    cluster.driver.pass_time(1.0)
    assert len(asked) == SENDS_MAX
    cluster.run(waiting.flush())
    assert cluster.driver.clock.monotonic() == pytest.approx(6.0)
    assert all(batch.result_of(0).message_id for batch in batches)
