"""Tests metrics of connected clients: sessions, connections and conflicts."""

from __future__ import annotations

from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.metrics import page_of
from gantrymq.wire.codes import RequestCode


def test_sessions_repeats_and_refusals_are_counted() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    for session in ("s:1:0", "s:1:0", "s:1:5", "other:1:0"):
        ext = {"gantrySession": session}
        broker.ask(RequestCode.SEND_MESSAGE_V2, message(), b"x", ext=ext)
    page = page_of(broker)
    assert page["gantry_broker_producer_sessions"] == 2
    assert page["gantry_broker_messages_repeated_total"] == 1
    assert page["gantry_broker_session_sends_refused_total"] == 1
    forgotten = "gantry_broker_producer_sessions_forgotten_total"
    assert page[f'{forgotten}{{setting="producerSessionHours"}}'] == 0
    assert page[f'{forgotten}{{setting="producerSessionsMax"}}'] == 0
