"""Replays the captured traffic of a real 5.3.3 name server in its order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gantrymq.base.configuration.properties import parse_properties
from gantrymq.fakes.brokers.namesrv import Desk, FakeChannel
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire import javajson
from gantrymq.wire.bodies.registration import RegisterBrokerBody
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.bodies.shared import DataVersion, TopicConfig
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

VECTORS = Path(__file__).parents[2] / "vectors"
NAME_SERVER = ":19876"

# The capture keeps at most six exchanges a code, so registrations are missing from it; `fill_gap`
# makes up for them.
OWN_SETTINGS = {
    "auditLogFile", "auditLogFileCount", "auditLogFileSize",
    "aclEnable", "aclFile", "brokerChannelExpiredTime", "listeners", "metricsBindAddress",
    "metricsPort", "metricsTokenFile", "secureDefaults", "warmUpSeconds",
    "configStorePath", "kvConfigPath", "rocketmqHome",
    "maxConnections", "maxConnectionsExempt", "maxConnectionsPerAddress", "maxPeerMemory",
    "maxRequestsPerSecondPerAddress", "quotaDelayMaxMillis",
}  # fmt: skip
LISTS = {Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Code.GET_TOPICS_BY_CLUSTER}


@dataclass
class Exchange:
    """One question and the answer a Java name server gave."""

    sender: str
    request: dict[str, Any]  # Any: JSON of the capture
    response: dict[str, Any]

    @property
    def code(self) -> int:
        return int(self.request["code"])


def exchanges() -> list[Exchange]:
    capture = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    return [
        Exchange(entry["sender"], entry["request"], entry["response"])
        for entry in capture
        if entry["peer"].endswith(NAME_SERVER) and entry.get("response")
    ]


def body_of(message: dict[str, Any]) -> bytes:
    if "bodyHex" in message:
        return bytes.fromhex(message["bodyHex"])
    return str(message.get("bodyText", "")).encode()


def ask(desk: Desk, exchange: Exchange, channels: dict[str, FakeChannel]) -> Command:
    request = exchange.request
    ext = request.get("ext")
    return desk.ask(
        request["code"],
        ext,
        body_of(request),
        version=request["version"],
        channel=channels.setdefault(exchange.sender, FakeChannel(exchange.sender)),
    )


def test_the_capture_is_answered_as_java_answered_it() -> None:
    desk = Desk(NameServerSettings(bind_address="127.0.0.1", listen_port=19876))
    channels: dict[str, FakeChannel] = {}
    for exchange in exchanges():
        fill_gap(desk, exchange)
        answer = ask(desk, exchange, channels)
        expected = exchange.response
        assert (answer.code, answer.remark) == (expected["code"], expected.get("remark")), exchange
        assert understood(exchange, answer.ext, answer.body) == understood(
            exchange, expected.get("ext"), body_of(expected)
        )
    desk.assert_empty()


def fill_gap(desk: Desk, exchange: Exchange) -> None:
    """Do what the capture left out between two exchanges, as far as this answer shows it."""
    expected = body_of(exchange.response)
    if exchange.code == Code.GET_ROUTEINFO_BY_TOPIC and expected:
        queue = TopicRouteData.from_json(javajson.loads(expected)).queues[0]
        topic = str(exchange.request["ext"]["topic"])
        if desk.route(topic) is None:
            increment(
                desk, {topic: TopicConfig(topic, queue.read_queue_nums, queue.write_queue_nums)}
            )
    elif exchange.code in LISTS:
        wanted = set(TopicList.from_json(javajson.loads(expected)).topics)
        known = desk.topics(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        for topic in wanted - known:
            increment(desk, {topic: TopicConfig(topic)})
        for topic in known - wanted:
            desk.ask(Code.DELETE_TOPIC_IN_NAMESRV, {"topic": topic})
    elif exchange.code == Code.QUERY_DATA_VERSION:
        increment(desk, {}, DataVersion.from_json(javajson.loads(expected)))
    elif exchange.code == Code.GET_KVLIST_BY_NAMESPACE:
        ext = {"namespace": "ns1", "key": "k", "value": "v"}
        assert desk.ask(Code.PUT_KV_CONFIG, ext).code == 0


def increment(
    desk: Desk, topics: dict[str, TopicConfig], version: DataVersion | None = None
) -> None:
    """What the capture's master registered in between."""
    master = desk.core.state.routes.groups["broker-v"].members[0]
    body = RegisterBrokerBody(version or master.data_version.next(0), topics)
    header = {
        "brokerName": master.broker_name,
        "brokerAddr": master.address,
        "clusterName": master.cluster,
        "brokerId": "0",
        # The capture's registrations name a port that the master's HA service did not get.
        "haServerAddr": "127.0.0.1:22912",
        "enableActingMaster": "false",
    }
    channel = master.channel
    assert isinstance(channel, FakeChannel)
    assert desk.ask(Code.REGISTER_BROKER, header, body.encode(), channel=channel).code == 0


def understood(exchange: Exchange, ext: dict[str, str] | None, body: bytes) -> object:
    """An answer without what may differ: the order of lists, counts of topics not captured,
    and settings of ours or of the machine the capture was made on."""
    if exchange.code in LISTS:
        return set(TopicList.from_json(javajson.loads(body)).topics)
    if exchange.code in (Code.WIPE_WRITE_PERM_OF_BROKER, Code.ADD_WRITE_PERM_OF_BROKER):
        return (set(ext or ()), body)
    if exchange.code == Code.GET_NAMESRV_CONFIG:
        settings = parse_properties(body.decode())
        assert list(settings) == sorted(settings)
        return {key: text for key, text in settings.items() if key not in OWN_SETTINGS}
    return (ext, body)
