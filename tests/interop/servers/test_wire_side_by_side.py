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

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.interop.name_server_questions import (
    QUESTIONS,
    RAW,
    REGISTER,
    REGISTER_SLAVE,
    TOPIC,
    UNREGISTER_SLAVE,
)
from gantrymq.interop.servers import NameServer, NameServerKind
from gantrymq.interop.sides import Sides, without_place
from gantrymq.interop.wire import Answer, Connection, Encoding, Request, connect, parse_fastjson

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SEEN_SECONDS = 20.0  # far less than the time after which a silent broker expires
BARE_KEY = re.compile(rb"[{,]-?\d+:")
LEFT_FROM_CREATION = "not set any response code"
LONGER_REMARKS = {"register broker failed"}
EXCEPTION = "<exception>"
EXCEPTION_TEXT = re.compile(r"^java\.|Exception: ")


@dataclass(frozen=True, slots=True)
class Meaning:
    """The compared parts of a response."""

    code: int
    remark: str | None
    ext: Mapping[str, str]
    body: object
    bare_keys: bool = field(default=False)


def meaning(answer: Answer, server: NameServer) -> Meaning:
    """A response without values that differ between the two servers."""
    remark = without_place(answer.remark, server) if answer.remark else None
    if answer.code == 0 and remark == LEFT_FROM_CREATION:
        remark = None
    if remark is not None and EXCEPTION_TEXT.search(remark):
        remark = EXCEPTION
    body = without_order(parse_fastjson(answer.body)) if answer.body else None
    bare = BARE_KEY.search(answer.body) is not None
    return Meaning(answer.code, remark, answer.ext or {}, body, bare)


def in_javas_form(subject: Meaning, reference: Meaning) -> Meaning:
    """Gantry's response, with its remark reduced to Java's where it may be longer."""
    remark = subject.remark or ""
    says_more = (reference.remark == EXCEPTION and remark != "") or (
        reference.remark in LONGER_REMARKS and remark.startswith(f"{reference.remark}: ")
    )
    return replace(subject, remark=reference.remark) if says_more else subject


def without_order(value: object) -> object:
    """The value with sorted lists, because a name server's lists come from hash tables."""
    if isinstance(value, dict):
        return {key: without_order(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((without_order(item) for item in value), key=repr)
    return value


def settled(connection: Connection, request: Request) -> Answer:
    """The response to a request; waits, since Java unregisters after it has answered."""
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
    """Wait until a topic has no route."""
    wait_until(lambda: not server.knows_topic(topic), f"{topic} is forgotten", SEEN_SECONDS)


@pytest.fixture
def known(sides: Sides) -> Iterator[Sides]:
    """Both sides with TOPIC on the real broker, and with nothing else before and after."""
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
            # `ask` checks that the response is its own
            assert connection.ask(Request(206)).code == 0


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
            # Java reads nothing before 12 bytes have arrived
            connection.send_bytes(frame + b"." * 16)
            assert connection.is_closed_by_peer()
