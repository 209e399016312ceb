"""Makes messages of every kind that a store keeps, the same ones in each run.

A round has one message of each kind, all stored at one time; their bodies make a log of several
files. A message is described as by StoreDriver.java: all its fields, the SHA-256 of the body,
decompressed, and the properties as a table, because their order means nothing.
"""

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gantrymq.wire import hosts
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.record import Record, body_crc

Told: TypeAlias = dict[str, object]
"""One message, with the names that StoreDriver.java gives its fields."""

ROUNDS: Final = 20
ROUND_MS: Final = 7_000

ORDERS, BILLS, DELIVERED = "Orders", "Bills", "Delivered"
RETRIES = "%RETRY%readers"
LONGEST = "L" * 127
SCHEDULE = "SCHEDULE_TOPIC_XXXX"
HALF, OPERATIONS = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"

QUEUES: Final[Mapping[str, int]] = {
    ORDERS: 4,
    BILLS: 2,
    DELIVERED: 1,
    RETRIES: 1,
    LONGEST: 1,
    SCHEDULE: 18,
    HALF: 1,
    OPERATIONS: 1,
}

# 1 s and 2 h: a broker delivers the first at once, and not the second
DUE_LEVEL, PENDING_LEVEL = 1, 18
DUE_ROUNDS: Final = 3
BATCH_PARTS: Final = 3
COMPRESSED_OLD, COMPRESSED_ZLIB = 0x1, 0x301
BORN_V4: Final = hosts.pack(bytes([10, 1, 2, 3]), 54321)
BORN_V6: Final = hosts.pack(bytes.fromhex("fd000000000000000000000000000002"), 40_001)
PREPARED_OFFSET: Final = 0x1122334455  # the store keeps it and never reads it
FILLING_BYTES: Final = 150_000  # of each round


@dataclass(frozen=True, slots=True)
class Round:
    """Puts that arrive at one time; one of several records is a batch."""

    stored_ms: int
    puts: tuple[tuple[Record, ...], ...]


class _Maker:
    """Makes the records of one round."""

    def __init__(self, number: int, store_host: bytes, born_ms: int) -> None:
        self.number = number
        self._store_host = store_host
        self._born_ms = born_ms
        self._made = 0

    def record(
        self,
        kind: str,
        topic: str,
        queue_id: int,
        named: Mapping[str, str] | None = None,
        *,
        body: bytes = b"",
        flags: int = 0,
        born_host: bytes = BORN_V4,
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
    ) -> Record:
        self._made += 1
        return Record(
            topic.encode(),
            body or f"{kind} of round {self.number}".encode(),
            properties=properties.encode(named or {}),
            queue_id=queue_id,
            flag=self.number,
            sys_flag=flags,
            born_timestamp_ms=self._born_ms + self._made,
            born_host=born_host,
            store_host=self._store_host,
            reconsume_times=reconsume_times,
            prepared_transaction_offset=prepared_transaction_offset,
        )

    def unique_key(self) -> str:
        """A key like those of clients, but always the same: address, process, salt, time,
        counter."""
        return f"0A010203D4312A139A55{self.number:08X}{self._made:04X}"

    def normal(self) -> Iterator[Record]:
        """Records as a producer sends them, with different bodies and hosts."""
        n = self.number
        yield self.record("plain", ORDERS, n % 4)
        yield self.record("tagged", ORDERS, (n + 1) % 4, {"TAGS": ("paid", "naïve𝄞")[n % 2]})
        keys = f"order-{n} shared schlüssel-{n}"
        named = {"KEYS": keys, "UNIQ_KEY": self.unique_key(), "WAIT": "true"}
        yield self.record("keyed", ORDERS, (n + 2) % 4, named)
        for flags in (COMPRESSED_OLD, COMPRESSED_ZLIB):
            text = zlib.compress(f"compressed {flags} {n} ".encode() * 500, 5)
            yield self.record("", ORDERS, (n + 3) % 4, {"TAGS": "long"}, body=text, flags=flags)
        filling = hashlib.shake_128(str(n).encode()).digest(FILLING_BYTES)
        yield self.record("", ORDERS, n % 4, {"KEYS": f"filling-{n}"}, body=filling)
        yield self.record("far", BILLS, n % 2, {"TAGS": "v6"}, born_host=BORN_V6)
        yield self.record("long name", LONGEST, 0, {"KEYS": f"long-{n}"})

    def batch(self) -> tuple[Record, ...]:
        return tuple(self._part(number) for number in range(BATCH_PARTS))

    def handled(self) -> Iterator[Record]:
        """Records as a broker writes them: delayed, retried, transactional."""
        n = self.number
        if n < DUE_ROUNDS:
            yield self._delayed(DUE_LEVEL)
        yield self._delayed(PENDING_LEVEL)
        named = {"RETRY_TOPIC": ORDERS, "ORIGIN_MESSAGE_ID": "0" * 32, "KEYS": f"again-{n}"}
        yield self.record("retried", RETRIES, 0, named, reconsume_times=3)
        key = self.unique_key()
        named = {
            "TRAN_MSG": "true",
            "PGROUP": "writers",
            "UNIQ_KEY": key,
            "__transactionId__": key,
            "REAL_TOPIC": ORDERS,
            "REAL_QID": "1",
        }
        yield self.record("transaction", HALF, 0, named)
        yield self.record("", OPERATIONS, 0, {"TAGS": "d"}, body=str(n).encode())
        yield self.record(
            *("transaction", ORDERS, 1, named),
            flags=sys_flag.TRANSACTION_COMMIT,
            prepared_transaction_offset=PREPARED_OFFSET,
        )

    def _part(self, number: int) -> Record:
        named = {"UNIQ_KEY": self.unique_key(), "KEYS": f"bill-{self.number}-{number}"}
        return self.record(f"part {number}", BILLS, 0, named)

    def _delayed(self, level: int) -> Record:
        named = {
            "DELAY": str(level),
            "REAL_TOPIC": DELIVERED,
            "REAL_QID": "0",
            "KEYS": f"delayed-{level}-{self.number}",
            "TAGS": "later",
        }
        return self.record(f"delayed {level}", SCHEDULE, level - 1, named)


def rounds(store_host: bytes, begin_ms: int) -> Iterator[Round]:
    """All rounds; the first one is stored at `begin_ms`."""
    for number in range(ROUNDS):
        stored_ms = begin_ms + number * ROUND_MS
        maker = _Maker(number, store_host, stored_ms - 500)
        singles = (*maker.normal(), *maker.handled())
        yield Round(stored_ms, (*((each,) for each in singles), maker.batch()))


def told(record: Record) -> Told:
    """The stored record as StoreDriver.java describes it."""
    flags = sys_flag.with_hosts(record.sys_flag, record.born_host, record.store_host)
    body = record.body
    if flags & sys_flag.COMPRESSED:
        body = zlib.decompress(body)
        flags &= ~sys_flag.COMPRESSED
    return {
        "topic": record.topic.decode(),
        "queueId": record.queue_id,
        "queueOffset": record.queue_offset,
        "physicalOffset": record.physical_offset,
        "size": record.size,
        "flag": record.flag,
        "sysFlag": flags,
        "bornTimestamp": record.born_timestamp_ms,
        "bornHost": record.born_host.hex(),
        "storeTimestamp": record.store_timestamp_ms,
        "storeHost": record.store_host.hex(),
        "reconsumeTimes": record.reconsume_times,
        "preparedTransactionOffset": record.prepared_transaction_offset,
        "bodyCrc": body_crc(record.body),
        "body": hashlib.sha256(body).hexdigest(),
        "properties": properties.parse(record.properties),
    }
