"""What Prometheus is told of producer sessions."""

from __future__ import annotations

from gantrymq.broker import metrics
from gantrymq.fakes.broker import OpenedBroker
from gantrymq.fakes.sends import add_topic, message
from gantrymq.wire.codes import RequestCode


def test_sessions_repeats_and_refusals_are_counted() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    for session in ("s:1:0", "s:1:0", "s:1:5", "other:1:0"):
        ext = {"gantrySession": session}
        broker.ask(RequestCode.SEND_MESSAGE_V2, message(), b"x", ext=ext)
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in metrics.families(broker.broker)
        for sample in family.samples
    }
    assert samples["gantry_broker_producer_sessions",] == 2
    assert samples["gantry_broker_messages_repeated_total",] == 1
    assert samples["gantry_broker_session_sends_refused_total",] == 1
    forgotten = "gantry_broker_producer_sessions_forgotten_total"
    assert samples[forgotten, "producerSessionHours"] == 0
    assert samples[forgotten, "producerSessionsMax"] == 0
