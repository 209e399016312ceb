"""Tests the unit mode flag of requests."""

from __future__ import annotations

from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.outcomes import LATER
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import Consumer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import HeartbeatData
from gantrymq.wire.codes import RequestCode


def test_unit_mode_is_in_sends_heartbeats_and_send_backs() -> None:
    cluster = Cluster()
    unit = ClientSettings(unit_mode=True)
    cluster.client(settings=unit)
    core = ProducerCore(cluster.instance, "P", ProducerSettings())
    cluster.run(core.start())
    cluster.run(core.send(Message("T", b"x")))
    (sent,) = cluster.asked_of(RequestCode.SEND_MESSAGE_V2)
    assert (sent.ext or {})["k"] == "true"
    Consumer(cluster, "other@1", outcome=lambda _: LATER, client_settings=unit).start()
    cluster.pass_time(1.0)
    (back,) = cluster.asked_of(RequestCode.CONSUMER_SEND_MSG_BACK)
    assert (back.ext or {})["unitMode"] == "true"
    beats = [javajson.loads(beat.body) for beat in cluster.asked_of(RequestCode.HEART_BEAT)]
    consumers = [each for beat in beats for each in HeartbeatData.from_json(beat).consumers]
    assert [each.unit_mode for each in consumers] == [True] * len(consumers) != []
