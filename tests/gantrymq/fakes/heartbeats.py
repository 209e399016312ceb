"""Heartbeats of made-up clients.

beat(broker, channel, consumer("G", "T"))
"""

from __future__ import annotations

from gantrymq.fakes.broker import FakeChannel, OpenedBroker
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import (
    CLUSTERING,
    ConsumerData,
    HeartbeatData,
    SubscriptionData,
)
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command


def consumer(
    group: str,
    *topics: str,
    expression: str = "*",
    sub_version: int = 1,
    model: str = CLUSTERING,
    unit_mode: bool = False,
) -> ConsumerData:
    """A consumer of all these topics."""
    return ConsumerData(
        group_name=group,
        message_model=model,
        subscriptions=tuple(
            SubscriptionData(topic=topic, sub_string=expression, sub_version=sub_version)
            for topic in topics
        ),
        unit_mode=unit_mode,
    )


def beat(
    broker: OpenedBroker,
    channel: FakeChannel,
    *consumers: ConsumerData,
    producers: tuple[str, ...] = (),
    client_id: str = "10.0.0.1@1",
    fingerprint: int = 0,
    without_sub: bool = False,
) -> Command:
    """The answer to a heartbeat."""
    data = HeartbeatData(
        client_id=client_id,
        consumers=consumers,
        producer_groups=producers,
        fingerprint=fingerprint,
        without_sub=without_sub,
    )
    body = javajson.dumps_fastjson(data.to_json())
    return broker.ask(RequestCode.HEART_BEAT, body=body, channel=channel)
