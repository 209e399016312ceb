"""Tests a subscription that Java's push consumer changes while its pulls wait at the broker.

It gets what is sent from then on. Java's broker answers such a pull by the new filter, and Java's
client drops messages without the tags that it pulled with.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import KINDS, ClientKind
from gantrymq.interop.clients.clients import Client
from gantrymq.interop.clients.stage import Message, Stage
from gantrymq.interop.servers import Broker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

JAVA = [kind for kind in KINDS if kind.name.startswith("Java")]
FILTERS = {"tags": ("{tag}", False), "sql": ("TAGS = '{tag}'", True)}

# A pull waits from the arrival of the previous message on.
CHANGES = ("B", "A", "B", "A")


@pytest.fixture(scope="module", params=JAVA, ids=[kind.name for kind in JAVA])
def driver(request: pytest.FixtureRequest, folder: Callable[[str], Path]) -> Iterator[Client]:
    kind: ClientKind = request.param
    with Client(kind.name, folder("client"), kind.command) as client:
        yield client


@pytest.mark.parametrize("filter_kind", FILTERS)
def test_messages_sent_after_a_change_arrive(
    driver: Client, brokers: Callable[[BrokerKind], Broker], filter_kind: str
) -> None:
    expression, is_sql = FILTERS[filter_kind]
    name = f"changes-{filter_kind}-{driver.name.rpartition(' ')[2].replace('.', '-')}"
    with Stage(driver, brokers(BrokerKind.GANTRY), name) as stage:
        topic = stage.topic(queues=1)
        producer = stage.producer()
        producer.send([Message(topic, "0", tag="A")])
        consumer = stage.consumer(topic, expression=expression.format(tag="A"), sql=is_sql)
        consumer.gets_exactly(["0"])
        sent = ["0"]
        for number, tag in enumerate(CHANGES, 1):
            order = {"topic": topic, "expression": expression.format(tag=tag), "sql": is_sql}
            stage.ask("subscribe", consumer.name, order)
            producer.send([Message(topic, str(number), tag=tag)])
            sent.append(str(number))
            consumer.gets_exactly(sent)
