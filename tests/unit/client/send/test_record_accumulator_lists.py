"""Lists that are handed over to wait together, in virtual time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.instance.hooks import SendContext, SendHook
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.batch_results import SomeUnsentError, results_of
from gantrymq.client.core.send.producer_batch import Share
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.record_accumulator import RecordAccumulator, WaitingFullError
from gantrymq.client.core.send.sending import Sender
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

PATTERN = Message("T", b"", tag="A", properties={"k": "\u00fc"}, flag=-7)


class Seen(SendHook):
    """What hooks are shown."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def before_send(self, context: SendContext) -> None:
        self.bodies += [message.body for message in context.messages]

    def after_send(self, context: SendContext) -> None:
        del context


def accumulator(
    cluster: Cluster, wrapped_in: str = "", hooks: Sequence[SendHook] = (), **settings: object
) -> RecordAccumulator:
    made = ProducerSettings(**{"linger_s": 0.1, **settings})  # type: ignore[arg-type]
    return RecordAccumulator(Sender(cluster.instance, "G", made, hooks), wrapped_in)


def sent(cluster: Cluster) -> Sequence[Command]:
    return cluster.asked_of(RequestCode.SEND_BATCH_MESSAGE)


def counts(shares: Sequence[Share]) -> list[int]:
    return [share.count for share in shares]


@pytest.mark.parametrize("wrapped_in", ["", "tenant"])
def test_a_list_is_sent_like_its_single_messages(wrapped_in: str) -> None:
    bodies = [b"a", b"b" * 300, b"c"]
    requests = []
    for is_list in (True, False):
        cluster = Cluster("a", topics={"T": 1, "tenant%T": 1})
        waiting = accumulator(cluster, wrapped_in)
        if is_list:
            waiting.add_many(PATTERN, bodies)
        else:
            cluster.instance.ports.new_id()  # a list takes one to measure its properties by
            for body in bodies:
                waiting.add(PATTERN.with_body(body))
        held = waiting.waiting_bytes
        cluster.run(waiting.flush())
        requests.append([(held, command.ext, command.body) for command in sent(cluster)])
    assert requests[0] == requests[1]
    assert len(requests[0]) == 1


@given(
    sizes=st.lists(st.integers(1, 120), max_size=40),
    messages_max=st.integers(1, 9),
    bytes_max=st.integers(1, 900),
)
def test_every_message_is_stored_where_its_result_says(
    sizes: list[int], messages_max: int, bytes_max: int
) -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, batch_messages_max=messages_max, batch_bytes_max=bytes_max)
    queue = MessageQueue("T", "a", 0)
    bodies = [bytes([number]) * size for number, size in enumerate(sizes)]
    waiting.add(Message("T", b"before"), queue)
    shares = waiting.add_many(PATTERN, bodies, queue)
    waiting.add(Message("T", b"after"), queue)
    cluster.run(waiting.flush())
    assert cluster.brokers["a"].bodies("T") == [b"before", *bodies, b"after"]
    results = results_of(shares)
    assert [result.queue_offset for result in results] == list(range(1, len(sizes) + 1))
    assert [results[n] for n in range(len(results))] == list(results) == results[:]
    records = cluster.brokers["a"].records("T")[1:-1]
    assert [result.message_id for result in results] == [
        dict(pair.split("\x01", 1) for pair in record.properties.decode().split("\x02") if pair)[
            "UNIQ_KEY"
        ]
        for record in records
    ]
    assert all(share.batch.count <= messages_max for share in shares)
    assert waiting.waiting_bytes == 0


def test_an_empty_list_is_done_at_once() -> None:
    shares = accumulator(Cluster("a")).add_many(PATTERN, [])
    assert list(results_of(shares)) == []


@pytest.mark.parametrize(
    ("bodies", "why"),
    [
        ([b"a", b""], "because of body 1: the message body length is zero"),
        ([b"a", b"b" * 301], "because of body 1: .*MAX: 300"),
        ([b"a"] * 9, "9 messages need .* shorter lists"),
    ],
)
def test_a_refused_list_adds_no_message(bodies: list[bytes], why: str) -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, message_bytes_max=300, waiting_bytes_max=1500)
    with pytest.raises(MessageError, match=why):
        waiting.add_many(PATTERN, bodies)
    with pytest.raises(MessageError, match="properties"):
        waiting.add_many(Message("T", b"", properties={"k": "v" * 40_000}), [b"a"])
    with pytest.raises(MessageError, match="forbidden"):
        waiting.add_many(Message("SELF_TEST_TOPIC", b""), [b"a"])
    assert waiting.waiting_bytes == 0


def test_a_list_is_accepted_as_a_whole_or_refused() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, waiting_bytes_max=8_000)
    bodies = [b"x" * 100] * 9
    waiting.add_many(PATTERN, bodies)
    while waiting.waiting_bytes < 8_000:
        waiting.add_many(PATTERN, bodies)
    held = waiting.waiting_bytes
    assert held < 12_000
    with pytest.raises(WaitingFullError):
        waiting.add_many(PATTERN, bodies)
    assert waiting.waiting_bytes == held
    cluster.run(waiting.room())
    waiting.add_many(PATTERN, bodies)
    cluster.run(waiting.flush())


def test_long_bodies_of_a_list_are_compressed_alone() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster)
    shares = waiting.add_many(PATTERN, [b"a", b"b" * 5000, b"c"])
    cluster.run(waiting.flush())
    alone = cluster.asked_of(RequestCode.SEND_MESSAGE_V2)
    assert len(alone) == 1
    assert len(alone[0].body) < 200
    assert counts(shares) == [1, 1, 1]
    assert len({result.queue_offset for result in results_of(shares)}) == 3


def test_hooks_see_each_message_of_a_list() -> None:
    cluster = Cluster("a", topics={"T": 1})
    seen = Seen()
    waiting = accumulator(cluster, hooks=[seen])
    shares = waiting.add_many(PATTERN, [b"a", b"b", b"c"])
    cluster.run(waiting.flush())
    assert seen.bodies == [b"a", b"b", b"c"]
    assert counts(shares) == [3]


def test_an_error_has_the_positions_that_failed() -> None:
    cluster = Cluster("a", topics={"T": 1})
    waiting = accumulator(cluster, batch_messages_max=3, retries=0)
    shares = waiting.add_many(PATTERN, [b"a", b"b", b"c"])
    cluster.run(waiting.flush())
    cluster.faults[cluster.address("a")] = gone
    shares += waiting.add_many(PATTERN, [b"d", b"e"])
    cluster.run(waiting.flush())
    with pytest.raises(SomeUnsentError, match=r"2 of 5 messages .*no server listens") as caught:
        results_of(shares)
    assert caught.value.failed == (3, 4)
    assert len(caught.value.causes) == 1


@pytest.mark.parametrize("topic", ["T", "%RETRY%G"])
@pytest.mark.parametrize("hooks", [(), (Seen(),)])
def test_a_list_is_refused_by_its_total_size(topic: str, hooks: Sequence[SendHook]) -> None:
    """Not for its bodies alone: properties are written for each of them."""
    cluster = Cluster("a", topics={topic: 1})
    waiting = accumulator(cluster, hooks=hooks, waiting_bytes_max=100_000)
    pattern = Message(topic, b"", properties={"k": "v" * 9_000})
    with pytest.raises(MessageError, match=r"11 messages need .* none was taken"):
        waiting.add_many(pattern, [b"x"] * 11)
    assert waiting.waiting_bytes == 0
    waiting.add_many(pattern, [b"x"] * 3)
    assert 27_000 < waiting.waiting_bytes < 60_000
    cluster.run(waiting.flush())


def test_an_error_has_one_cause_for_each_request() -> None:
    cluster = Cluster("a", topics={"T": 1})
    cluster.faults[cluster.address("a")] = gone
    waiting = accumulator(cluster, retries=0)
    shares = waiting.add_many(PATTERN, [b"a", b"b" * 5000, b"c"])
    cluster.run(waiting.flush())
    with pytest.raises(SomeUnsentError, match="3 of 3") as caught:
        results_of(shares)
    assert caught.value.failed == (0, 1, 2)
    assert len(caught.value.causes) == 2
