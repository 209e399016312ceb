"""What a message is on the wire."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.instance.hooks import MessageKind
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.send_request import of_message
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.message import compression, properties, property_names
from gantrymq.wire.message.compression import CompressionType

QUEUE = MessageQueue("T", "broker-v", 2)


def sent(
    message: Message, settings: ProducerSettings | None = None, namespace: str = ""
) -> Command:
    request = of_message(
        message,
        settings=settings or ProducerSettings(),
        group="VecProducer",
        wrapped_in=namespace,
        new_id="0123",
    )
    return request.command(QUEUE, 1795224404006)


def ext(command: Command) -> dict[str, str]:
    assert command.ext is not None
    return command.ext


def test_a_message_is_sent_as_java_sends_it() -> None:
    command = sent(Message("VecTopic", b"hello", tag="TagA", keys=["K1", "K2"], flag=3))
    assert command.code == RequestCode.SEND_MESSAGE_V2
    assert command.body == b"hello"
    fields = ext(command)
    told = properties.parse(fields.pop("i").encode())
    assert told == {"TAGS": "TagA", "KEYS": "K1 K2", "UNIQ_KEY": "0123"}
    assert fields == {
        "a": "VecProducer",
        "b": "VecTopic",
        "c": "TBW102",
        "d": "4",
        "e": "2",
        "f": "0",
        "g": "1795224404006",
        "h": "3",
        "j": "0",
        "k": "false",
        "m": "false",
        "n": "broker-v",
    }


@pytest.mark.parametrize("kind", CompressionType)
def test_long_bodies_are_compressed(kind: CompressionType) -> None:
    body = b"x" * 4096
    command = sent(Message("T", body), ProducerSettings(compression=kind))
    flags = int(ext(command)["f"])
    assert compression.of(flags) is kind
    assert compression.decompress(kind, command.body, 5000) == body
    assert flags == {1: 0x101, 2: 0x201, 3: 0x301}[kind]
    assert sent(Message("T", body[1:])).body == body[1:]


def test_a_body_that_compression_enlarges_stays_uncompressed() -> None:
    body = bytes(n * n * 7 % 251 for n in range(64))
    command = sent(Message("T", body), ProducerSettings(compress_over_bytes=1))
    assert (command.body, ext(command)["f"]) == (body, "0")


def test_retried_messages_say_how_often() -> None:
    message = Message("%RETRY%CG", b"x")
    message.properties[property_names.RECONSUME_TIME] = "5"
    message.properties[property_names.MAX_RECONSUME_TIMES] = "16"
    assert (ext(sent(message))["j"], ext(sent(message))["l"]) == ("5", "16")


def test_an_existing_id_is_kept() -> None:
    message = Message("T", b"x")
    message.properties[property_names.UNIQ_KEY] = "MINE"
    assert ext(sent(message))["i"] == "UNIQ_KEY\x01MINE\x02"


def test_names_are_wrapped_and_the_message_is_not_touched() -> None:
    message = Message("T", b"x")
    fields = ext(sent(message, namespace="ns"))
    assert fields["b"] == "ns%T"
    assert properties.get(fields["i"].encode(), property_names.INSTANCE_ID) == "ns"
    assert (message.topic, message.properties) == ("T", {})


def test_replies_have_a_code_of_their_own() -> None:
    message = Message("C_REPLY_TOPIC", b"x")
    message.properties[property_names.MSG_TYPE] = "reply"
    command = sent(message, namespace="ns")
    assert (command.code, ext(command)["b"]) == (325, "C_REPLY_TOPIC")


def test_wait_until_stored_is_sent_as_a_property() -> None:
    fields = ext(sent(Message("T", b"x", wait_until_stored=False)))
    assert properties.get(fields["i"].encode(), "WAIT") == "false"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message("T", b""), "the message body length is zero"),
        (Message("T", b"x" * 101), "the message body size over max value, MAX: 100"),
        (Message("SCHEDULE_TOPIC_XXXX", b"x"), "Sending message to topic.* is forbidden"),
        (Message("T", b"x", properties={"a": "é" * 20_000}), "properties of the message have 40"),
        (
            Message("T", b"x", properties={"a": "\U0001f600" * 8_500}),
            "properties of the .* have 34",
        ),
    ],
)
def test_an_invalid_message_is_refused_before_it_is_sent(message: Message, text: str) -> None:
    with pytest.raises(MessageError, match=text):
        sent(message, ProducerSettings(message_bytes_max=100))


def test_delays_are_seen() -> None:
    message = Message("T", b"x", delay_level=3)
    request = of_message(message, settings=ProducerSettings(), group="G", wrapped_in="", new_id="1")
    assert request.kind is MessageKind.DELAYED
