"""Lists the sends that fill a store with every kind of message, and checks that store.

The producer's program returns for each sending the broker's answer; `differences` compares the
store with these answers.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from gantrymq.interop.child import wait_until
from gantrymq.interop.servers import fields
from gantrymq.interop.store.store_contents import Contents, Queue, keys_of, message_id
from gantrymq.interop.store.store_messages import (
    BILLS,
    DELIVERED,
    DUE_LEVEL,
    HALF,
    OPERATIONS,
    ORDERS,
    PENDING_LEVEL,
    SCHEDULE,
    Told,
)
from gantrymq.interop.stores import JavaReader, StoreBroker, StoreClient
from gantrymq.wire.message import property_names as names
from gantrymq.wire.message import sys_flag

ROUNDS: Final = 16
FILLING_CHARS: Final = 250_000  # hex digits, half of that when compressed
COMMIT, ROLLBACK, OPEN = "COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"
ARRIVAL_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Text:
    """One message; empty fields are left out."""

    text: str
    tag: str = ""
    keys: str = ""
    delay: int = 0
    flag: int = 0


@dataclass(frozen=True, slots=True)
class Sending:
    """One call of the producer; several messages are a batch, a decision ends a transaction."""

    topic: str
    queue: int
    messages: tuple[Text, ...]
    decision: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """A sending and the broker's answer: a transaction has no offset id."""

    sending: Sending
    offset_ids: tuple[str, ...]
    unique_keys: tuple[str, ...]
    queue_id: int
    queue_offset: int


def sendings(turn: int) -> Iterator[Sending]:
    """Sendings of every kind; they differ from those of other turns."""
    for n in range(ROUNDS):
        name = f"{turn}-{n}"
        yield Sending(ORDERS, n % 4, (Text(f"plain {name}", flag=n),))
        yield Sending(ORDERS, n % 4, (Text(f"tagged {name}", tag=("paid", "naïve𝄞")[n % 2]),))
        keys = f"order-{name} shared-{turn} schlüssel-{name}"
        yield Sending(ORDERS, (n + 1) % 4, (Text(f"keyed {name}", keys=keys, tag="paid"),))
        filling = hashlib.shake_128(name.encode()).hexdigest(FILLING_CHARS // 2)
        yield Sending(ORDERS, (n + 2) % 4, (Text(filling, keys=f"filling-{name}"),))
        parts = tuple(Text(f"part {p} {name}", keys=f"bill-{name}-{p}") for p in range(3))
        yield Sending(BILLS, n % 2, parts)
    for level in (DUE_LEVEL, PENDING_LEVEL):
        text = Text(f"delayed {level} {turn}", keys=f"delayed-{level}-{turn}", delay=level)
        yield Sending(DELIVERED, 0, (text,))
    for decision in (COMMIT, ROLLBACK, OPEN):
        text = Text(f"transaction {decision} {turn}", keys=f"{decision}-{turn}")
        yield Sending(ORDERS, 0, (text,), decision)


def send_all(client: StoreClient, broker: StoreBroker, turn: int) -> list[Sent]:
    """Send all of them, and wait for what the broker does by itself."""
    reader = JavaReader(client, broker)
    ended = reader.end((OPERATIONS, 0))
    sent = []
    for sending in sendings(turn):
        (told,) = client.ask(broker, "send", messages=[asdict(sending)])
        sent.append(_sent(sending, fields(told)))
        # one by one, because 5.3 joins decisions that come together
        if sending.decision in {COMMIT, ROLLBACK}:
            ended += 1
            reader.wait_for((OPERATIONS, 0), ended, ARRIVAL_SECONDS)
    # A broker that was killed delivers again; the second deliveries come after that.
    due = [text for each in sent for text in each.sending.messages if text.delay == DUE_LEVEL]
    wait_until(
        lambda: all(_digest(text) in _delivered(reader) for text in due),
        f"{due} is delivered",
        ARRIVAL_SECONDS,
    )
    return sent


def _delivered(reader: JavaReader) -> list[object]:
    return [message["body"] for message in reader.pull((DELIVERED, 0)).messages]


def _sent(sending: Sending, told: Mapping[str, object]) -> Sent:
    assert told["status"] == "SEND_OK", told
    return Sent(
        sending,
        tuple(str(told["offsetId"]).split(",")) if "offsetId" in told else (),
        tuple(str(told["uniqueKey"]).split(",")),
        int(str(told["queueId"])),
        int(str(told["queueOffset"])),
    )


def differences(sent: Sequence[Sent], contents: Contents) -> list[str]:
    """The sendings that the store does not have as the broker answered."""
    return [f"{each.sending}: {text}"[:1000] for each in sent for text in _faults(each, contents)]


def _faults(sent: Sent, contents: Contents) -> Iterator[str]:
    stored = _stored_in(sent)
    queue = contents.queues[stored]
    for number, text in enumerate(sent.sending.messages):
        offset = sent.queue_offset + number
        if offset >= len(queue):
            yield f"{stored} has no offset {offset}"
            return
        yield from _unlike(queue[offset], text)
    stored_ones = queue[sent.queue_offset : sent.queue_offset + len(sent.sending.messages)]
    ids = tuple(message_id(message) for message in stored_ones)
    if ids != sent.offset_ids and not sent.sending.decision:
        yield f"offset ids {sent.offset_ids}, stored {ids}"
    # 5.3 gives all messages of a batch one key, which the answer does not contain.
    if len(stored_ones) == 1 and tuple(keys_of(stored_ones[0], is_unique=True)) != sent.unique_keys:
        yield f"unique key {sent.unique_keys}, stored {stored_ones[0]['properties']}"
    if sent.sending.decision:
        yield from _undecided(sent, contents)
    if sent.sending.messages[0].delay == DUE_LEVEL:
        bodies = [message["body"] for message in contents.queues[DELIVERED, 0]]
        if _digest(sent.sending.messages[0]) not in bodies:
            yield "not delivered"


def _stored_in(sent: Sent) -> Queue:
    """The queue in which a broker stores the message first."""
    if delay := sent.sending.messages[0].delay:
        return SCHEDULE, delay - 1
    return (HALF, 0) if sent.sending.decision else (sent.sending.topic, sent.queue_id)


def _unlike(message: Told, text: Text) -> Iterator[str]:
    named = message["properties"]
    assert isinstance(named, dict)
    got = message["body"], message["flag"], named.get(names.TAGS, ""), named.get(names.KEYS, "")
    expected = _digest(text), text.flag, text.tag, text.keys
    if got != expected:
        yield f"{got} is stored, not {expected}"


def _undecided(sent: Sent, contents: Contents) -> Iterator[str]:
    """Checks that the final message exists if and only if the transaction was committed."""
    half = contents.queues[HALF, 0][sent.queue_offset]
    final = [
        message
        for message in contents.queues[sent.sending.topic, sent.queue_id]
        if message["preparedTransactionOffset"] == half["physicalOffset"] != 0
    ]
    if len(final) != (sent.sending.decision == COMMIT):
        yield f"{len(final)} final messages"
    for message in final:
        flags = message["sysFlag"]
        assert isinstance(flags, int)
        if sys_flag.transaction_type(flags) != sys_flag.TRANSACTION_COMMIT:
            yield f"sysFlag {flags}"
        if message["body"] != half["body"]:
            yield f"its body is {message['body']}"


def _digest(text: Text) -> str:
    return hashlib.sha256(text.text.encode()).hexdigest()
