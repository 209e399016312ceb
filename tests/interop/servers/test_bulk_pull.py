"""Tests bulk reads at Java's brokers and at Gantry's: both return the same messages."""

from collections.abc import Callable, Iterator

import pytest

from gantrymq.client import Message
from gantrymq.client.blocking import Producer
from gantrymq.client.bulk import BulkPuller, BulkSettings, QueueRef, QueueTruncatedError
from gantrymq.client.core.group.subscriptions import Expression, Sql, subscription
from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.servers import Broker
from gantrymq.wire.message.record import decode_all

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

TOPIC = "BulkPull"
COUNT = 500


@pytest.fixture(scope="module", params=BrokerKind, ids=[kind.value for kind in BrokerKind])
def queue(
    request: pytest.FixtureRequest, brokers: Callable[[BrokerKind], Broker]
) -> Iterator[tuple[QueueRef, BulkPuller]]:
    """A queue with messages 0 to 499, each third with tag `third`, and its reader."""
    broker = brokers(request.param)
    broker.create_topic(TOPIC)
    queue = QueueRef(TOPIC, broker.broker_name, 1)
    names = broker.name_server_addresses
    with Producer("BulkPullProducer", name_servers=names) as producer:
        for start in range(0, COUNT, 50):
            batch = [message(number) for number in range(start, start + 50)]
            producer.send_batch(batch, queue=queue)
    settings = BulkSettings(
        name_servers=tuple(names.split(";")), group="BulkPullReader", truncated_after_s=0.5
    )
    with BulkPuller(settings) as puller:
        yield queue, puller


def message(number: int) -> Message:
    tag = "third" if number % 3 == 0 else "other"
    return Message(TOPIC, b"%d" % number, tag=tag, properties={"number": str(number)})


def numbers(bodies: Iterator[bytes]) -> list[int]:
    return [int(record.body) for body in bodies for record in decode_all(body)]


@pytest.mark.parametrize("depth", [1, 4])
def test_ranges_are_complete(queue: tuple[QueueRef, BulkPuller], depth: int) -> None:
    place, puller = queue
    for start, end in ((0, COUNT), (33, 34), (100, 401)):
        found = numbers(puller.pull(place, start, end, depth=depth))
        assert found == list(range(start, end))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("third", range(0, COUNT, 3)), (Sql("number between 10 and 99"), range(10, 100))],
)
def test_broker_filters_messages(
    queue: tuple[QueueRef, BulkPuller], expression: Expression, expected: range
) -> None:
    place, puller = queue
    subscribed = subscription(TOPIC, expression, 1)
    assert numbers(puller.pull(place, 0, COUNT, subscription=subscribed)) == list(expected)


def test_queue_that_ends_before_the_range_reports_its_end(
    queue: tuple[QueueRef, BulkPuller],
) -> None:
    place, puller = queue
    with pytest.raises(QueueTruncatedError) as lost:
        list(puller.pull(place, 490, 600))
    assert (lost.value.asked, lost.value.end_of_queue) == (COUNT, COUNT)
