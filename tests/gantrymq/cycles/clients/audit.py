"""Compares queues and logs with what the clients were told.

Every queue is read by offset at the master: offsets are dense, each has one message, and every
message that was acknowledged is at the very offset that was answered. Consumers were given nothing
else, and all of it, and the master knows that. The logs of all members are the same bytes.

It shares no code with the product: of a record it needs

    0 size | 8 checksum of the body | 12 queue | 20 queue offset | 84 size of the body | 88 body
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from gantrymq.cycles.clients.ledger import NOTHING, TOLD_MAX, Ledger, Places, identity
from gantrymq.cycles.clients.told import Told
from gantrymq.cycles.group import QUEUES, TOPIC, CycleGroup
from gantrymq.cycles.outcome import Audit
from gantrymq.cycles.records import BODY
from gantrymq.interop.wire import Connection, Request, connect

PULL_MESSAGE: Final = 11
QUERY_CONSUMER_OFFSET: Final = 14
GET_MAX_OFFSET: Final = 30
FOUND: Final = 0
NOT_FOUND: Final = 19
CONSUME_SECONDS: Final = 60.0
COMMIT_SECONDS: Final = 20.0
"""Clients say each five seconds how far they came."""
_HEAD: Final = struct.Struct(">iiIiiq")
_BODY_SIZE_AT, _BODY_AT = 84, 88
_SEVEN_BITS_LESS: Final = 0x7FFFFFFF


def audit(group: CycleGroup, ledger: Ledger, told: Told) -> Audit:
    """No client sends any more. The members are dead when this returns."""
    group.wait_until_well()
    stored = Places(QUEUES)
    faults = []
    with connect(group.master.address) as connection:
        for queue in range(QUEUES):
            faults += list(read_queue(connection, TOPIC, queue, stored))
    _wait_for_consumers(ledger, told)
    faults += _uncommitted(group, list(ledger.given))
    faults += [f"acknowledged twice: {each}" for each in islice(ledger.doubles, TOLD_MAX)]
    lost = list(ledger.acknowledged.missing(stored))
    faults += [f"lost, one of {len(lost)}: {each}" for each in lost[:TOLD_MAX]]
    for consumer, given in ledger.given.items():
        lacking = list(ledger.acknowledged.missing(given))
        faults += [f"{consumer} lacks {each}" for each in lacking[:TOLD_MAX]]
        faults += [f"{consumer} was given {each}" for each in islice(given.missing(stored), 20)]
    group.kill_members()
    logs = {number: member.store / "commitlog" for number, member in group.members.items()}
    size, differences = compare(logs)
    count = sum(1 for _ in stored.all())
    return Audit(ledger.count, count, size, [*faults, *differences])


def read_queue(connection: Connection, topic: str, queue: int, stored: Places) -> Iterator[str]:
    """Read all of one queue by offset into `stored`; yields what is wrong about it."""
    offset = 0
    while True:
        where = {"topic": topic, "queueId": str(queue), "queueOffset": str(offset)}
        how = {"consumerGroup": "audit", "maxMsgNums": "32", "sysFlag": "4", "subscription": "*"}
        rest = {"commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0"}
        answer = connection.ask(Request(PULL_MESSAGE, {**where, **how, **rest}))
        if answer.code == NOT_FOUND:
            return
        if answer.code != FOUND:
            yield f"queue {queue} cannot be read at {offset}: {answer.code} {answer.remark}"
            return
        for record in _records(answer.body):
            _, _, checksum, its_queue, _, its_offset = _HEAD.unpack_from(record)
            (size,) = struct.unpack_from(">i", record, _BODY_SIZE_AT)
            body = record[_BODY_AT : _BODY_AT + size]
            if (its_queue, its_offset) != (queue, offset):
                yield f"{its_queue}:{its_offset} was read at {queue}:{offset}"
                return
            if zlib.crc32(body) & _SEVEN_BITS_LESS != checksum:
                yield f"the body at {queue}:{offset} is damaged"
            before = stored.put(queue, offset, identity(*BODY.unpack_from(body)))
            assert before == NOTHING
            offset += 1


def _records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        yield data[at : at + size]
        at += size


def _wait_for_consumers(ledger: Ledger, told: Told) -> None:
    """Until they have all, or do not get on."""
    end = time.monotonic() + CONSUME_SECONDS
    while time.monotonic() < end:
        told.take()
        if not any(any(ledger.acknowledged.missing(each)) for each in ledger.given.values()):
            return
        time.sleep(1.0)


def _uncommitted(group: CycleGroup, consumers: list[str]) -> list[str]:
    """Where the master does not know that they have all, until they have had time to say so."""
    end = time.monotonic() + COMMIT_SECONDS
    while True:
        with connect(group.master.address) as connection:
            lacking = [each for name in consumers for each in _lagging(connection, name)]
        if not lacking or time.monotonic() > end:
            return lacking
        time.sleep(1.0)


def _lagging(connection: Connection, consumer: str) -> Iterator[str]:
    for queue in range(QUEUES):
        where = {"topic": TOPIC, "queueId": str(queue)}
        end = _offset(connection, Request(GET_MAX_OFFSET, where))
        group = {"consumerGroup": consumer}
        committed = _offset(connection, Request(QUERY_CONSUMER_OFFSET, {**where, **group}))
        if committed != end:
            yield f"queue {queue} ends at {end}, and {consumer} is at {committed} for its master"


def _offset(connection: Connection, request: Request) -> int:
    answer = connection.ask(request)
    return int((answer.ext or {}).get("offset", -1))


# ------------------------------------------------------------------ logs


def compare(logs: dict[int, Path]) -> tuple[int, list[str]]:
    """The bytes that are the same in all logs, and what is different."""
    ends = {number: end_of(folder) for number, folder in logs.items()}
    differences = []
    if len(set(ends.values())) > 1:
        differences.append(f"all follow and no client sends, yet the logs end at {ends}")
    first, *others = logs
    end = min(ends.values())
    for other in others:
        at = _first_difference(logs[first], logs[other], end)
        if at is not None:
            differences.append(f"the logs of {first} and {other} differ in the file at {at}")
    return end, differences


def end_of(folder: Path) -> int:
    """Behind the last record: blank records end a file, and the next one may be there, of zeros."""
    for file in sorted(folder.iterdir(), reverse=True):
        if at := _end_within(file.read_bytes()):
            return int(file.name) + at
    return 0


def _end_within(data: bytes) -> int:
    at = 0
    while at + 4 <= len(data):
        (size,) = struct.unpack_from(">i", data, at)
        if size <= 0:
            break
        at += size
    return at


def _first_difference(one: Path, other: Path, end: int) -> int | None:
    """The name of the first file in which they differ below `end`; those that both have count."""
    for name in sorted({each.name for each in one.iterdir()} & {e.name for e in other.iterdir()}):
        size = min((one / name).stat().st_size, end - int(name))
        if size > 0 and (one / name).read_bytes()[:size] != (other / name).read_bytes()[:size]:
            return int(name)
    return None
