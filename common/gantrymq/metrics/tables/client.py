"""Defines the metrics of an application's producers and consumers."""

from __future__ import annotations

from typing import Final

from gantrymq.metrics.family import Table

TABLE: Final = Table("client", "Producers and consumers of an application")

_PLACE: Final = ("group", "topic")
_SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)

SENT: Final = TABLE.counter(
    "gantry_client_sent_messages_total",
    "Messages in attempts to send, by outcome: ok, oneway, failed, or a send status that is not ok",
    (*_PLACE, "outcome"),
    unit="messages",
)
SENT_BYTES: Final = TABLE.counter(
    "gantry_client_sent_bytes_total",
    "Bytes of message bodies in attempts to send, after compression",
    _PLACE,
    unit="bytes",
)
SEND_SECONDS: Final = TABLE.histogram(
    "gantry_client_send_seconds",
    "Time of one attempt to send a message or a batch",
    _PLACE,
    buckets=_SECONDS,
    unit="seconds",
)
CONSUMED: Final = TABLE.counter(
    "gantry_client_consumed_messages_total",
    "Messages that were passed to a listener, by its answer: success, later or raised",
    (*_PLACE, "outcome"),
    unit="messages",
)
CONSUME_SECONDS: Final = TABLE.histogram(
    "gantry_client_consume_seconds",
    "Time of one call of a listener",
    _PLACE,
    buckets=_SECONDS,
    unit="seconds",
)
DELAY_SECONDS: Final = TABLE.histogram(
    "gantry_client_delay_seconds",
    "Time from the store of a message to the call of a listener, by the clocks of both machines",
    _PLACE,
    buckets=_SECONDS,
    unit="seconds",
)
