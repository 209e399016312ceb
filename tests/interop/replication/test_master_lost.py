"""Kills Gantry's master with SIGKILL under a real Java producer and push consumers.

Its slave serves them until the master is back, and no acknowledged message is lost: a SYNC_MASTER
acknowledges what a slave has. Deliveries may repeat, as with Java's broker.
"""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.drivers import JavaClient
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.servers import NameServer, gantry_broker, gantry_name_server

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

VERSION = REFERENCE
# Messages of before the kill: their consumer starts when the master is dead.
EARLIER_MESSAGES = 1000
LIVE_MESSAGES, A_SECOND, KILL_AT = 14_000, 400, 2100
SLAVE_SECONDS = 60.0
ARRIVE_SECONDS = 60.0


def wait_for_slave(producer: JavaClient, names: NameServer) -> None:
    """Wait until a send is acknowledged with the slave's copy."""

    def is_told() -> bool:
        producer.start_producing("Probe", [names], 1)
        return not producer.failed_sends(1)

    wait_until(is_told, "the master has a slave", SLAVE_SECONDS)


def test_clients_of_a_killed_master_use_its_slave_and_return(
    folder: Callable[[str], Path],
    clients: Callable[[str], JavaClient],
    record_property: Callable[[str, object], None],
) -> None:
    producer = clients(VERSION)
    master_settings = {"brokerName": "lost", "brokerRole": "SYNC_MASTER"}
    slave_settings = {"brokerName": "lost", "brokerRole": "SLAVE", "brokerId": "1"}
    with (
        gantry_name_server(folder("names")) as names,
        gantry_broker(folder("master"), [names], master_settings) as master,
        JavaClient(VERSION, folder("consumers")) as consumers,
        ExitStack() as later,
    ):
        for topic in ("Probe", "Earlier", "Live"):
            master.create_topic(topic)
        # Before the slave starts, so that its first copy of the tables has the topics.
        later.enter_context(gantry_broker(folder("slave"), [names], slave_settings))
        wait_for_slave(producer, names)
        producer.produce("Earlier", [names], EARLIER_MESSAGES)
        consumers.subscribe("Live", [names])
        producer.start_producing("Live", [names], LIVE_MESSAGES, per_second=A_SECOND)
        producer.wait_for_sent(KILL_AT)

        master.kill()
        consumers.subscribe("Earlier", [names])
        earlier = consumers.received("Earlier", EARLIER_MESSAGES)
        assert earlier.numbers == set(range(EARLIER_MESSAGES)), "the slave did not serve them"

        master.start()
        failed = producer.failed_sends(LIVE_MESSAGES)
        told = set(range(LIVE_MESSAGES)) - failed.keys()
        with suppress(TimeoutError):  # missing messages are reported below
            wait_until(
                lambda: told <= consumers.received("Live", 0).numbers, "all came", ARRIVE_SECONDS
            )
        live = consumers.received("Live", 0)
        earlier = consumers.received("Earlier", 0)
    assert told <= live.numbers, f"lost: {sorted(told - live.numbers)[:10]}"
    assert live.damaged == earlier.damaged == ()
    assert max(told) == LIVE_MESSAGES - 1, "the producer did not find the master again"
    record_property("sends failed", len(failed))
    record_property("live deliveries again", live.deliveries - len(live.numbers))
    record_property("earlier deliveries again", earlier.deliveries - len(earlier.numbers))
