"""Lists the raw requests that are compared on Gantry's name server and on Java's."""

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gantrymq.interop.wire import Request

TOPIC = "WireTopic"
BEFORE_STANDARD_JSON, STANDARD_JSON = 400, 401
RAW = {
    "brokerName": "raw-broker",
    "brokerAddr": "127.0.0.1:1",
    "clusterName": "raw-cluster",
    "haServerAddr": "127.0.0.1:2",
    "brokerId": "0",
}
RAW_SLAVE = {**RAW, "brokerId": "1", "brokerAddr": "127.0.0.1:3", "haServerAddr": "127.0.0.1:4"}
DATA_VERSION = b'{"counter":1,"stateVersion":0,"timestamp":1}'


def registration(*topics: str, flags: Sequence[int] = ()) -> bytes:
    """The body of a registration."""
    table = {
        topic: {
            "topicName": topic,
            "perm": 6,
            "readQueueNums": 4,
            "writeQueueNums": 4,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": flag,
            "order": False,
        }
        for topic, flag in zip(topics, flags or [0] * len(topics), strict=True)
    }
    wrapper = {"dataVersion": json.loads(DATA_VERSION), "topicConfigTable": table}
    return json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}).encode()


def compressed_registration(*topics: str, with_mappings: bool) -> bytes:
    """The same, packed; brokers from 5.0 on add a section of static topics, here empty."""
    attributes = "{}" if with_mappings else ""
    lines = [f"{topic} 4 4 6 SINGLE_TAG {attributes}".encode() for topic in topics]
    parts = [
        _sized(DATA_VERSION),
        struct.pack(">i", len(lines)),
        *map(_sized, lines),
        _sized(b"[]"),
    ]
    if with_mappings:
        parts.append(struct.pack(">i", 0))
    return zlib.compress(b"".join(parts), 9)


def _sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


REGISTER = Request(103, RAW, registration("Raw1", "Raw2"))
REGISTER_SLAVE = Request(103, RAW_SLAVE, registration("Raw1", "Raw2"))
UNREGISTER_SLAVE = Request(104, RAW_SLAVE)
QUESTIONS: Mapping[str, Sequence[Request]] = {
    "route": [Request(105, {"topic": TOPIC})],
    "route for an old client": [Request(105, {"topic": TOPIC}, version=BEFORE_STANDARD_JSON)],
    "route for the first new client": [Request(105, {"topic": TOPIC}, version=STANDARD_JSON)],
    "route, standard JSON asked for": [
        Request(
            105, {"topic": TOPIC, "acceptStandardJsonOnly": "true"}, version=BEFORE_STANDARD_JSON
        )
    ],
    "route, standard JSON declined": [
        Request(
            105, {"topic": TOPIC, "acceptStandardJsonOnly": "false"}, version=BEFORE_STANDARD_JSON
        )
    ],
    "route, a boolean that is none": [
        Request(
            105, {"topic": TOPIC, "acceptStandardJsonOnly": "maybe"}, version=BEFORE_STANDARD_JSON
        )
    ],
    "route, unknown ext field": [Request(105, {"topic": TOPIC, "noSuchField": "1"})],
    "route from a client in Go": [Request(105, {"topic": TOPIC}, language="GO")],
    "route of an unknown topic": [Request(105, {"topic": "NoSuchTopic"})],
    "route without a topic": [Request(105, {})],
    "route without ext fields": [Request(105)],
    "cluster info": [Request(106)],
    "topics": [Request(206)],
    "topics of a cluster": [Request(224, {"cluster": "interop"})],
    "topics of an unknown cluster": [Request(224, {"cluster": "no-such-cluster"})],
    "topics of no cluster": [Request(224)],
    "system topics": [Request(304)],
    "unit topics": [Request(311)],
    "topics with unit subscribers": [Request(312)],
    "topics with unit subscribers, not unit": [Request(313)],
    "topics by unit flag": [
        Request(
            103,
            RAW,
            registration("Plain", "Unit", "Subscribed", "UnitAndSubscribed", flags=[0, 1, 2, 3]),
        ),
        Request(311),
        Request(312),
        Request(313),
    ],
    "key-value": [
        Request(101, {"namespace": "n", "key": "k"}),
        Request(219, {"namespace": "n"}),
        Request(102, {"namespace": "n", "key": "k"}),
        Request(100, {"namespace": "n", "key": "k", "value": 'v é "q" \\ ;='}),
        Request(100, {"namespace": "n", "key": "k2", "value": "v2"}),
        Request(101, {"namespace": "n", "key": "k"}),
        Request(219, {"namespace": "n"}),
        Request(102, {"namespace": "n", "key": "k"}),
        Request(101, {"namespace": "n", "key": "k"}),
        Request(102, {"namespace": "n", "key": "k2"}),
        Request(219, {"namespace": "n"}),
    ],
    "get nothing": [Request(101), Request(101, {}), Request(101, {"namespace": "other"})],
    "list nothing": [Request(219), Request(219, {})],
    "delete nothing": [Request(102)],
    "wipe the write permission of an unknown broker": [
        Request(205, {"brokerName": "absent-broker"})
    ],
    "wipe the write permission without a name": [Request(205)],
    "add the write permission of an unknown broker": [
        Request(327, {"brokerName": "absent-broker"})
    ],
    "write permission": [
        REGISTER,
        Request(205, {"brokerName": "raw-broker"}),
        Request(105, {"topic": "Raw1"}),
        Request(205, {"brokerName": "raw-broker"}),
        Request(327, {"brokerName": "raw-broker"}),
        Request(105, {"topic": "Raw1"}),
    ],
    "delete an unknown topic": [Request(216, {"topic": "NoSuchTopic"})],
    "delete no topic": [Request(216)],
    "delete a topic": [
        REGISTER,
        Request(216, {"topic": "Raw1", "clusterName": "no-such-cluster"}),
        Request(105, {"topic": "Raw1"}),
        Request(216, {"topic": "Raw1", "clusterName": "raw-cluster"}),
        Request(105, {"topic": "Raw1"}),
        Request(216, {"topic": "Raw2"}),
        Request(105, {"topic": "Raw2"}),
    ],
    "register a topic": [
        REGISTER,
        Request(
            217,
            {"topic": "Added"},
            b'{"brokerDatas":[],"queueDatas":[{"brokerName":"raw-broker","perm":6,'
            b'"readQueueNums":3,"writeQueueNums":2,"topicSysFlag":0}]}',
        ),
        Request(105, {"topic": "Added"}),
        Request(216, {"topic": "Added"}),
    ],
    "register a topic of an unknown broker": [
        Request(
            217,
            {"topic": "Added"},
            b'{"brokerDatas":[],"queueDatas":[{"brokerName":"absent-broker","perm":6,'
            b'"readQueueNums":3,"writeQueueNums":2,"topicSysFlag":0}]}',
        ),
        Request(105, {"topic": "Added"}),
    ],
    "update settings": [
        Request(318, body=b"productEnvName=elsewhere\n"),
        Request(318, body=b"productEnvName=center\n"),
        Request(318),
        *(
            Request(318, body=f"{key}=x\n".encode())
            for key in ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")
        ),
    ],
    "version of an unknown broker": [Request(322, RAW, DATA_VERSION)],
    "version of a known broker": [
        REGISTER,
        Request(322, RAW, DATA_VERSION),
        Request(322, RAW, DATA_VERSION.replace(b'counter":1', b'counter":2')),
        Request(322, RAW, DATA_VERSION.replace(b'timestamp":1', b'timestamp":2')),
        Request(322, RAW),
    ],
    "members of an unknown group": [
        Request(901, {"clusterName": "interop", "brokerName": "absent-broker"}),
        Request(901),
    ],
    "heartbeat of an unknown broker": [Request(904, RAW)],
    "heartbeat without fields": [Request(904)],
    "heartbeat": [REGISTER, Request(904, RAW)],
    "unknown code": [Request(9999), Request(-5), Request(33, {"offset": "0"})],
    "register with a wrong checksum": [
        replace(REGISTER, ext={**RAW, "bodyCrc32": "12345"}),
        Request(105, {"topic": "Raw1"}),
    ],
    "register with the right checksum": [
        replace(REGISTER, ext={**RAW, "bodyCrc32": str(zlib.crc32(REGISTER.body) & 0x7FFFFFFF)}),
        Request(105, {"topic": "Raw1"}),
    ],
    "register with checksum zero": [
        replace(REGISTER, ext={**RAW, "bodyCrc32": "0"}),
        Request(105, {"topic": "Raw1"}),
    ],
    "register without a body": [Request(103, RAW), Request(224, {"cluster": "raw-cluster"})],
    "register without a broker id": [
        replace(REGISTER, ext={key: value for key, value in RAW.items() if key != "brokerId"}),
        Request(105, {"topic": "Raw1"}),
    ],
    "register with a body that is none": [
        replace(REGISTER, body=b"\x00 no body"),
        Request(105, {"topic": "Raw1"}),
    ],
    "register compressed": [
        Request(
            103,
            {**RAW, "compressed": "true"},
            compressed_registration("Packed", "Packed2", with_mappings=True),
        ),
        Request(105, {"topic": "Packed"}),
    ],
    "register compressed as before 5.0": [
        Request(
            103,
            {**RAW, "compressed": "true"},
            compressed_registration("Packed", "Packed2", with_mappings=False),
            version=STANDARD_JSON,
        ),
        Request(105, {"topic": "Packed"}),
        Request(105, {"topic": "Packed2"}),
    ],
    "register plainly, called compressed": [
        replace(REGISTER, ext={**RAW, "compressed": "true"}),
        Request(105, {"topic": "Raw1"}),
    ],
    "register again": [REGISTER, REGISTER, Request(105, {"topic": "Raw1"})],
    # Refused, for it could be the change of a table we never saw; after that Java keeps the name
    # of a broker without addresses, until it has registered and gone.
    "register one topic first": [
        Request(103, RAW, registration("Single")),
        Request(105, {"topic": "Single"}),
        REGISTER,
        Request(103, RAW, registration("Single")),
        Request(105, {"topic": "Raw1"}),
    ],
    "master and slave": [
        REGISTER,
        REGISTER_SLAVE,
        Request(105, {"topic": "Raw1"}),
        Request(105, {"topic": "Raw1"}, version=BEFORE_STANDARD_JSON),
        Request(901, {"clusterName": "raw-cluster", "brokerName": "raw-broker"}),
        Request(106),
        UNREGISTER_SLAVE,
    ],
    "the same address under another id": [
        REGISTER,
        replace(REGISTER_SLAVE, ext={**RAW_SLAVE, "brokerAddr": RAW["brokerAddr"]}),
        Request(901, {"clusterName": "raw-cluster", "brokerName": "raw-broker"}),
        Request(104, {**RAW_SLAVE, "brokerAddr": RAW["brokerAddr"]}),
    ],
    "unregister an unknown broker": [Request(104, {**RAW, "brokerName": "absent-broker"})],
    "order configuration for a broker": [
        REGISTER,
        Request(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "Raw1", "value": "raw-broker:4"}),
        REGISTER,
        Request(105, {"topic": "Raw1"}),
        Request(318, body=b"orderMessageEnable=true\n"),
        Request(105, {"topic": "Raw1"}),
        Request(105, {"topic": "Raw2"}),
        Request(318, body=b"orderMessageEnable=false\n"),
        Request(102, {"namespace": "ORDER_TOPIC_CONFIG", "key": "Raw1"}),
        REGISTER,
    ],
}
