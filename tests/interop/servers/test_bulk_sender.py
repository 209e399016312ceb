"""Tests the bulk sender at Java's brokers and Gantry's.

Every row is stored at least once everywhere, and once at brokers that know producer sessions; the
sender never promises more than a broker can keep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from gantrymq.client.bulk import BulkSettings
from gantrymq.client.bulk.errors import NotSupportedError
from gantrymq.client.bulk.outgoing import Origin, OutgoingMessage
from gantrymq.client.bulk.sender import BulkSender, SendLimits
from gantrymq.fakes.stores.stored_bodies import stored_messages
from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.servers import Broker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

ROWS = 2000
LIMITS = SendLimits(batch_bytes=4_000)
SAID = {"TAGS": "paid", "KEYS": "k", "city": "Zürich"}


def run(settings: BulkSettings, topic: str, *, is_idempotent: bool) -> None:
    origin = Origin("load", 0, 0)
    with BulkSender(settings, origin, LIMITS, is_idempotent=is_idempotent) as sender:
        layout = sender.layout(topic)
        for row in range(ROWS):
            said = {**SAID, "DELAY": "1"} if row == 7 else SAID
            sender.send(OutgoingMessage(b"%d" % row, said, flag=3), layout.by_number(row))
        sender.flush()


@pytest.mark.parametrize("kind", list(BrokerKind), ids=lambda kind: kind.value)
def test_every_broker_stores_all_rows_and_repeats_have_the_same_keys(
    kind: BrokerKind, brokers: Callable[[BrokerKind], Broker]
) -> None:
    broker, topic = brokers(kind), f"bulk-sends-of-{kind.name}"
    broker.create_topic(topic)
    settings = BulkSettings(name_servers=(broker.name_server_addresses,), group="load")
    for _ in range(2):
        run(settings, topic, is_idempotent=False)
    found = [each for each in stored_messages(settings.name_servers[0], topic) if each.body != b"7"]
    keys = Counter(each.properties["UNIQ_KEY"] for each in found)
    assert len(keys) == ROWS - 1
    assert set(keys.values()) == {2}
    assert all(SAID.items() <= each.properties.items() and each.flag == 3 for each in found)


@pytest.mark.parametrize("kind", list(BrokerKind), ids=lambda kind: kind.value)
def test_guarantee_that_a_broker_cannot_give_is_refused(
    kind: BrokerKind, brokers: Callable[[BrokerKind], Broker]
) -> None:
    broker, topic = brokers(kind), f"bulk-once-of-{kind.name}"
    broker.create_topic(topic)
    settings = BulkSettings(name_servers=(broker.name_server_addresses,), group="load")
    if kind is not BrokerKind.GANTRY:
        with pytest.raises(NotSupportedError, match="Set delivery to at-least-once"):
            run(settings, topic, is_idempotent=True)
        assert stored_messages(settings.name_servers[0], topic) == []
        return
    for _ in range(2):
        run(settings, topic, is_idempotent=True)
    found = {each.body for each in stored_messages(settings.name_servers[0], topic)}
    assert len(found | {b"7"}) == ROWS
