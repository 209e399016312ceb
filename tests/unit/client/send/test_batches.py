"""Messages in one request."""

from __future__ import annotations

import itertools

import pytest

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.batches import of_batch, reckoned_bytes, split
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.send_request import SendRequest
from gantrymq.client.core.send.sending import Sender
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message import batch, properties


def made(messages: list[Message], namespace: str = "", bytes_max: int = 4 << 20) -> SendRequest:
    ids = map(str, itertools.count())
    return of_batch(
        messages,
        settings=ProducerSettings(message_bytes_max=bytes_max),
        group="G",
        wrapped_in=namespace,
        new_id=ids.__next__,
    )


def test_each_message_keeps_its_own() -> None:
    messages = [Message("T", b"a", tag="A", flag=5), Message("T", b"bb", keys="K")]
    parts = batch.decode(made(messages).body)
    assert [(part.body, part.flag) for part in parts] == [(b"a", 5), (b"bb", 0)]
    told = [properties.parse(part.properties) for part in parts]
    assert told == [{"TAGS": "A", "UNIQ_KEY": "0"}, {"KEYS": "K", "UNIQ_KEY": "1"}]


def test_a_batch_is_stored_with_ids_that_differ() -> None:
    cluster = Cluster("a", topics={"T": 1})
    request = made([Message("T", b"%d" % n) for n in range(3)])
    assert (request.code, request.message_id) == (RequestCode.SEND_BATCH_MESSAGE, "0,1,2")
    sender = Sender(cluster.instance, "G", ProducerSettings(), ())
    result = cluster.run(sender.send(request))
    assert result.message_id == "0,1,2"
    records = cluster.brokers["a"].records("T", 0)
    assert [record.body for record in records] == [b"0", b"1", b"2"]
    ids = [properties.get(record.properties, "UNIQ_KEY") for record in records]
    assert ids == ["0", "1", "2"]


def test_names_are_wrapped() -> None:
    request = made([Message("T", b"x")], namespace="ns")
    (part,) = batch.decode(request.body)
    assert request.topic == "ns%T"
    assert properties.get(part.properties, "INSTANCE_ID") == "ns"


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], "at least one"),
        ([Message("T", b"x"), Message("U", b"x")], "one batch should be the same: T and U"),
        ([Message("T", b"x", delay_level=1)], "TimeDelayLevel is not supported for batching"),
        ([Message("T", b"x", delay_s=1)], "TimeDelayLevel is not supported for batching"),
        ([Message("%RETRY%G", b"x")], "Retry Group is not supported for batching"),
        (
            [Message("T", b"x"), Message("T", b"x", wait_until_stored=False)],
            "The waitStoreMsgOK of the messages in one batch should the same",
        ),
        ([Message("T", b"")], "the message body length is zero"),
        ([Message("T", b"x" * 60)] * 2, "over max value, MAX: 100"),
    ],
)
def test_an_invalid_batch_is_refused(messages: list[Message], text: str) -> None:
    with pytest.raises(MessageError, match=text):
        made(messages, bytes_max=100)


def test_lists_are_divided_in_order() -> None:
    messages = [Message("topic", b"x" * n, properties={"a": "b"}) for n in range(100)]
    parts = list(split(messages, 500))
    assert [message for part in parts for message in part] == messages
    assert all(sum(map(reckoned_bytes, part)) <= 500 for part in parts)
    assert reckoned_bytes(messages[10]) == 5 + 10 + 2 + 20
    sums = [sum(map(reckoned_bytes, part)) for part in parts]
    firsts = [reckoned_bytes(part[0]) for part in parts]
    assert all(size + first > 500 for size, first in zip(sums[:-1], firsts[1:], strict=True))


def test_a_too_large_message_is_alone_in_its_part() -> None:
    messages = [Message("T", b"x"), Message("T", b"x" * 900), Message("T", b"x")]
    assert [len(part) for part in split(messages, 500)] == [1, 1, 1]
