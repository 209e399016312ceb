"""Kills Gantry's broker with SIGKILL under a real Java producer and push consumer.

No acknowledged message is lost, and the consumer goes on by itself. Deliveries may repeat: the
consumer's offset is on disk every flushConsumerOffsetInterval, as with Java's broker.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.drivers import JavaClient
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.servers import gantry_broker, gantry_name_server

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

VERSION = REFERENCE
TOPIC = "Killed"
# A Java client that asks for routes while the broker is down finds it again by its next question,
# 30 s later: the producer has messages for 35 s after the last kill.
MESSAGES = 12_000
A_SECOND = 300
KILLS_AT = (600, 1500)
ARRIVE_SECONDS = 90.0


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_a_killed_broker_loses_nothing_and_its_clients_go_on(
    folder: Callable[[str], Path],
    clients: Callable[[str], JavaClient],
    record_property: Callable[[str, object], None],
    flush: str,
) -> None:
    client = clients(VERSION)
    topic = f"{TOPIC}-{flush}"
    settings = {"flushDiskType": flush}
    with (
        gantry_name_server(folder("names")) as names,
        gantry_broker(folder("killed"), [names], settings) as broker,
    ):
        broker.create_topic(topic)
        client.subscribe(topic, [names])
        client.start_producing(topic, [names], MESSAGES, per_second=A_SECOND)
        for count in KILLS_AT:
            client.wait_for_sent(count)
            broker.kill()
            broker.start()
        failed = client.failed_sends(MESSAGES)
        told = set(range(MESSAGES)) - failed.keys()
        with suppress(TimeoutError):  # missing messages are reported below
            wait_until(
                lambda: told <= client.received(topic, 0).numbers, "all have come", ARRIVE_SECONDS
            )
        received = client.received(topic, 0)
    assert told <= received.numbers, f"lost: {sorted(told - received.numbers)[:10]}"
    assert received.damaged == ()
    assert max(told) == MESSAGES - 1, "the producer did not find the broker again"
    record_property("sends failed", len(failed))
    record_property("deliveries again", received.deliveries - len(received.numbers))
