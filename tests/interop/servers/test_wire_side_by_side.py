"""Tests that raw requests get the same answers from Gantry's name server as from Java's.

Compared: code, remark, ext fields, and the body, parsed, together with whether its numeric keys
are quoted (old clients need them bare, new ones quoted). Java's order of lists and maps is that of
its hash tables, so lists of names are compared as sets. Every request is sent with a JSON header
and again with a binary one.

Gantry differs on purpose:

* The encoding of an answer is that of its request, as with 4.9; 5.3 answers everything in JSON.
* Where Java's remark is the text of an exception and its stack, only the code is compared.
* Java leaves "not set any response code" in the remark of some successes.
* LONGER_REMARKS: Gantry's remark begins as Java's, and then says why.
* A registration whose broker name is missing makes a broker called null in Java; it is not sent
  here, since it would stay in Java's tables.
* Java forgets one broker when a connection closes, however many registered over it.
"""

import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.interop.servers import NameServer, NameServerKind
from gantrymq.interop.sides import Sides, without_place
from gantrymq.interop.wire import Answer, Connection, Encoding, Request, connect, parse_fastjson

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

TOPIC = "WireTopic"
SEEN_SECONDS = 20.0  # far less than a broker's silence would take to be noticed
BEFORE_STANDARD_JSON, STANDARD_JSON = 400, 401
BARE_KEY = re.compile(rb"[{,]-?\d+:")
LEFT_FROM_CREATION = "not set any response code"
LONGER_REMARKS = {"register broker failed"}
EXCEPTION = "<exception>"
EXCEPTION_TEXT = re.compile(r"^java\.|Exception: ")
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
    "wipe the write permission of an unknown broker": [Request(205, {"brokerName": "nobody"})],
    "wipe the write permission without a name": [Request(205)],
    "add the write permission of an unknown broker": [Request(327, {"brokerName": "nobody"})],
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
            b'{"brokerDatas":[],"queueDatas":[{"brokerName":"nobody","perm":6,'
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
        Request(901, {"clusterName": "interop", "brokerName": "nobody"}),
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
    "unregister an unknown broker": [Request(104, {**RAW, "brokerName": "nobody"})],
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


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is compared of an answer."""

    code: int
    remark: str | None
    ext: Mapping[str, str]
    body: object
    bare_keys: bool = field(default=False)


def meaning(answer: Answer, server: NameServer) -> Meaning:
    """An answer without what tells the two servers apart."""
    remark = without_place(answer.remark, server) if answer.remark else None
    if answer.code == 0 and remark == LEFT_FROM_CREATION:
        remark = None
    if remark is not None and EXCEPTION_TEXT.search(remark):
        remark = EXCEPTION
    body = without_order(parse_fastjson(answer.body)) if answer.body else None
    bare = BARE_KEY.search(answer.body) is not None
    return Meaning(answer.code, remark, answer.ext or {}, body, bare)


def in_javas_form(subject: Meaning, reference: Meaning) -> Meaning:
    """Our answer, its remark reduced to Java's where ours may say more."""
    remark = subject.remark or ""
    says_more = (reference.remark == EXCEPTION and remark != "") or (
        reference.remark in LONGER_REMARKS and remark.startswith(f"{reference.remark}: ")
    )
    return replace(subject, remark=reference.remark) if says_more else subject


def without_order(value: object) -> object:
    """Lists sorted: those of a name server come from hash tables."""
    if isinstance(value, dict):
        return {key: without_order(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((without_order(item) for item in value), key=repr)
    return value


def settled(connection: Connection, request: Request) -> Answer:
    """The answer to a request; Java unregisters behind its answer's back, so see it through."""
    answer = connection.ask(request)
    if request.code == 104 and request.ext is not None:
        address = f'"{request.ext["brokerAddr"]}"'.encode()
        wait_until(
            lambda: address not in connection.ask(Request(106)).body,
            "it is unregistered",
            SEEN_SECONDS,
        )
    return answer


def wait_until_forgotten(server: NameServer, topic: str) -> None:
    """Wait for a topic's route to go."""
    wait_until(lambda: not server.knows_topic(topic), f"{topic} is forgotten", SEEN_SECONDS)


@pytest.fixture
def known(sides: Sides) -> Iterator[Sides]:
    """Both sides with TOPIC on the real broker, and nothing else before and after."""
    sides.wait_until_settled()
    sides.broker.create_topic(TOPIC)
    yield sides
    sides.wait_until_settled()


@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_the_same(known: Sides, name: str, encoding: Encoding) -> None:
    dialogues = []
    for server in known.each():
        with connect(server.address) as connection:
            answers = [
                settled(connection, replace(request, encoding=encoding))
                for request in QUESTIONS[name]
            ]
        dialogues.append([meaning(answer, server) for answer in answers])
    reference, subject = dialogues
    if known.kind is NameServerKind.GANTRY:
        subject = list(map(in_javas_form, subject, reference))
    assert subject == reference


def test_response_has_the_encoding_of_its_request(known: Sides) -> None:
    if known.kind is NameServerKind.JAVA:
        pytest.skip("Java 5.3 answers JSON to everything; only ours is judged here")
    for encoding in Encoding:
        assert known.subject.ask(Request(206, encoding=encoding)).encoding is encoding


def test_settings_are_lines_in_the_order_of_their_keys(known: Sides) -> None:
    for server in known.each():
        answer = server.ask(Request(319))
        lines = answer.body.decode().splitlines()
        keys = [line.partition("=")[0] for line in lines]
        assert (answer.code, answer.remark) == (0, None)
        assert keys == sorted(keys)
        assert f"listenPort={server.address.rpartition(':')[2]}" in lines


@pytest.mark.parametrize("code", [106, 9999])
def test_a_oneway_request_is_never_answered(known: Sides, code: int) -> None:
    for server in known.each():
        with connect(server.address) as connection:
            connection.send(Request(code, flag=2))
            assert connection.ask(Request(206)).code == 0  # `ask` insists on its own answer


def test_unexpected_response_is_ignored(known: Sides) -> None:
    for server in known.each():
        with connect(server.address) as connection:
            connection.send(Request(0, flag=1))
            assert connection.ask(Request(206)).code == 0


def test_a_broker_is_forgotten_when_its_connection_closes(known: Sides) -> None:
    for server in known.each():
        with connect(server.address) as connection:
            assert connection.ask(REGISTER).code == 0
            assert server.knows_topic("Raw1")
        wait_until_forgotten(server, "Raw1")


def test_a_master_unregisters_and_its_slave_keeps_the_route(known: Sides) -> None:
    for server in known.each():
        with connect(server.address) as connection:
            for request in (REGISTER, REGISTER_SLAVE, Request(104, RAW)):
                assert settled(connection, request).code == 0
            route = connection.ask(Request(105, {"topic": "Raw1"}))
            assert route.code == 0
            assert b'"brokerAddrs":{"1":"127.0.0.1:3"}' in route.body
            settled(connection, UNREGISTER_SLAVE)
            assert connection.ask(Request(105, {"topic": "Raw1"})).code == 17


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">i", -5),
        struct.pack(">i", 0),
        struct.pack(">i", 3),
        struct.pack(">i", (16 << 20) + 1),
        struct.pack(">ii", 20, 200),
        struct.pack(">ii", 20, 2 << 24 | 2) + b"{}",
        struct.pack(">ii", 20, 2) + b"xx",
        struct.pack(">ii", 8, 4) + b"null",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=[
        "negative size",
        "size zero",
        "size below its header's length",
        "too large",
        "header longer than frame",
        "unknown header type",
        "header is no JSON",
        "header is null",
        "HTTP",
    ],
)
def test_malformed_bytes_close_the_connection(known: Sides, frame: bytes) -> None:
    for server in known.each():
        with connect(server.address) as connection:
            connection.send_bytes(frame + b"." * 16)  # Java looks at nothing before 12 bytes
            assert connection.is_closed_by_peer()
