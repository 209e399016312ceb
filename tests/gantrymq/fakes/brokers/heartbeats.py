"""Sends heartbeats of simulated clients.

beat(broker, channel, consumer("G", "T"))
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import (
    CLUSTERING,
    ConsumerData,
    HeartbeatData,
    SubscriptionData,
)
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header

C_contra = TypeVar("C_contra", contravariant=True)


class Asked(Protocol[C_contra]):
    """A broker of the tests; C is its type of connection."""

    def ask(
        self,
        code: RequestCode,
        header: Header | None = None,
        body: bytes = b"",
        *,
        channel: C_contra | None = None,
    ) -> Command: ...


def consumer(
    group: str,
    *topics: str,
    expression: str = "*",
    sub_version: int = 1,
    model: str = CLUSTERING,
    unit_mode: bool = False,
) -> ConsumerData:
    """The data of a consumer that subscribes to these topics."""
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
    broker: Asked[C_contra],
    channel: C_contra,
    *consumers: ConsumerData,
    producers: tuple[str, ...] = (),
    client_id: str = "10.0.0.1@1",
    fingerprint: int = 0,
    without_sub: bool = False,
) -> Command:
    """The response to a heartbeat."""
    data = HeartbeatData(
        client_id=client_id,
        consumers=consumers,
        producer_groups=producers,
        fingerprint=fingerprint,
        without_sub=without_sub,
    )
    body = javajson.dumps_fastjson(data.to_json())
    return broker.ask(RequestCode.HEART_BEAT, body=body, channel=channel)
