"""Starts the brokers that are compared, each with the name server of the same kind."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Final

from gantrymq.interop.releases import NEWEST, OLDEST
from gantrymq.interop.servers import (
    Broker,
    JavaBroker,
    gantry_broker,
    gantry_name_server,
    java_name_server,
)

# The settings of all of them; times are short, so that tests take seconds instead of days.
SETTINGS: Final = {
    "messageDelayLevel": "1s 2s 3s" + " 1s" * 15,
    "transactionCheckInterval": "1000",
    "transactionTimeOut": "1000",
    # otherwise an ended transaction is checked again in between
    "transactionOpBatchInterval": "100",
    "enablePropertyFilter": "true",
    "traceTopicEnable": "true",
    "autoCreateTopicEnable": "true",
    "recallMessageEnable": "true",
}


class BrokerKind(Enum):
    """The program that is the broker, and the name server beside it."""

    GANTRY = "gantry"
    JAVA = "java"
    JAVA_4 = "java-4.9"


@contextmanager
def running(
    kind: BrokerKind,
    folder: Callable[[str], Path],
    settings: Mapping[str, str] = SETTINGS,
    of_name_server: Mapping[str, str] | None = None,
    newest: str = NEWEST,
) -> Iterator[Broker]:
    """A broker with its name server and these settings; `newest` is the release that JAVA stands
    for."""
    at, for_broker = folder("namesrv"), folder("broker")
    if kind is BrokerKind.GANTRY:
        with (
            gantry_name_server(at, of_name_server) as server,
            gantry_broker(for_broker, [server], settings) as broker,
        ):
            yield broker
        return
    version = newest if kind is BrokerKind.JAVA else OLDEST
    with (
        java_name_server(version, at, of_name_server) as server,
        JavaBroker(version, for_broker, [server], settings) as broker,
    ):
        yield broker
