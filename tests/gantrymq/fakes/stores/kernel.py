"""Runs sends through the kernel and through the general path, which must agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gantrymq.base.errors import RemoteError
from gantrymq.store.append.kernel import Fed, Kernel
from gantrymq.store.append.write_group import WriteGroup
from gantrymq.store.commitlog.arena import Arena
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.record.message_checks import check_batch, check_batch_body, check_message
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire import frames
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.header import HeaderError, wire_names
from gantrymq.wire.headers.send import (
    SendMessageRequest,
    SendMessageResponse,
    SendMessageV2Request,
)
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.message import batch, offset_id, properties
from gantrymq.wire.message.batch import BatchPart
from gantrymq.wire.message.record import Record
from gantrymq.wire.version import OWN_VERSION

STORE_HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
BORN_HOST = b"\x0a\x01\x02\x03\x00\x00\xd4\x31"
BORN_HOST_V6 = bytes(15) + b"\x01\x00\x00\xd4\x31"
ADDED = b"MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01c\x02"
FILE_BYTES = 4096
LEVELS = DelayLevels("1s 5s")
SETTINGS = StoreSettings(mapped_file_size_commit_log=FILE_BYTES, max_message_size=1000)
QUEUES = 4
START = 10 * FILE_BYTES + 100
NOW_MS = 1_700_000_000_123
UNIQUE = "C000020268CB30946E09674E98260000"

EXT = {
    "a": "PG",
    "b": "orders",
    "c": "TBW102",
    "d": "4",
    "e": "3",
    "f": "0",
    "g": "1700000000000",
    "h": "0",
    "i": f"UNIQ_KEY\x01{UNIQUE}\x02WAIT\x01true\x02TAGS\x01TagA\x02KEYS\x01k1 k2\x02",
    "j": "0",
    "k": "false",
    "m": "false",
    "n": "broker-a",
}
LONG = dict(zip(wire_names(SendMessageV2Request), wire_names(SendMessageRequest), strict=True))


def stored(topics: Iterable[bytes]) -> Queues:
    """Queues with messages: the first one has 1, the next one 101, and so on."""
    queues = Queues(MemoryDisk(), 6000)
    queues.load(0)
    for topic in topics:
        for queue_id in range(QUEUES):
            queues.append(topic.decode(), queue_id, 100 * queue_id, 0, 1, 0)
    return queues


def kernel_of(
    queues: Queues, file_bytes: int = FILE_BYTES, topics: Iterable[bytes] = (b"orders",)
) -> Kernel:
    made = Kernel(
        queues,
        STORE_HOST,
        region="DefaultRegion",
        added_properties=ADDED,
        max_message_size=SETTINGS.max_message_size,
        file_bytes=file_bytes,
    )
    for topic in topics:
        made.serve(topic, QUEUES)
    return made


def kernel(file_bytes: int = FILE_BYTES, topics: Sequence[bytes] = (b"orders",)) -> Kernel:
    return kernel_of(stored(topics), file_bytes, topics)


def group() -> WriteGroup:
    return WriteGroup(Arena(START, FILE_BYTES, NOW_MS), LEVELS)


def feed(data: bytes, to: WriteGroup | None = None, born_host: bytes = BORN_HOST) -> Fed:
    return kernel().feed(to or group(), data, 0, born_host)


def command(
    ext: Mapping[str, str | None] | None = None,
    *,
    encoding: int = 0,
    body: bytes = b"hello",
    code: int = 310,
    flag: int = 0,
    opaque: int = 0,
) -> Command:
    changed = EXT | dict(ext or {})
    fields = {name: value for name, value in changed.items() if value is not None}
    if code == 10:
        fields = {LONG.get(name, name): value for name, value in fields.items()}
    return Command(
        code, ext=fields, body=body, encoding=encoding, version=479, flag=flag, opaque=opaque
    )


def frame(
    ext: Mapping[str, str | None] | None = None,
    *,
    encoding: int = 0,
    body: bytes = b"hello",
    code: int = 310,
    flag: int = 0,
    opaque: int = 0,
) -> bytes:
    made = command(ext, encoding=encoding, body=body, code=code, flag=flag, opaque=opaque)
    return frames.encode(made)


class General:
    """The general path: it decodes commands, typed headers and records one after the other."""

    def __init__(self, born_host: bytes) -> None:
        self.arena = Arena(START, FILE_BYTES, NOW_MS)
        self.replies = b""
        self._ends = [100 * queue + 1 for queue in range(QUEUES)]
        self._born_host = born_host

    def take(self, request: Command) -> bool:
        """Store the message; False if it is refused or needs more than to be stored."""
        kind = SendMessageRequest if request.code == 10 else SendMessageV2Request
        try:
            header = kind.decode(request.ext)
        except HeaderError:
            return False
        if header.topic != "orders" or not 0 <= header.queue_id < QUEUES or header.sys_flag & 0xCC:
            return False
        shared = utf8_bytes(header.properties or "")
        parts = [BatchPart(request.body, header.flag, b"")]
        if header.batch:
            try:
                parts = batch.decode(request.body)
            except RemoteError:
                return False
        elif "UNIQ_KEY" not in properties.parse(shared):
            return False
        if not all(is_plain(own) for own in (shared, *(part.properties for part in parts))):
            return False
        records = [self._record(header, part, shared) for part in parts]
        if header.batch and (
            check_batch_body(len(request.body), SETTINGS) or check_batch(records, SETTINGS)
        ):
            return False
        if not header.batch and check_message(records[0], SETTINGS):
            return False
        for number, record in enumerate(records):
            record.queue_offset = self._ends[header.queue_id] + number
        self._ends[header.queue_id] += len(records)
        self.arena.add_batch(records)
        if not request.is_oneway:
            self._reply(request, records, properties.get(shared, "UNIQ_KEY"))
        return True

    def _record(
        self, header: SendMessageRequest | SendMessageV2Request, part: BatchPart, shared: bytes
    ) -> Record:
        return Record(
            b"orders",
            part.body,
            properties=properties.join(part.properties, properties.join(shared, ADDED)),
            queue_id=header.queue_id,
            flag=part.flag,
            sys_flag=header.sys_flag,
            born_timestamp_ms=header.born_timestamp,
            born_host=self._born_host,
            store_host=STORE_HOST,
            reconsume_times=header.reconsume_times or 0,
        )

    def _reply(self, request: Command, records: Sequence[Record], unique_key: str | None) -> None:
        ids = [offset_id.encode(STORE_HOST, record.physical_offset) for record in records]
        response = SendMessageResponse(
            msg_id=",".join(ids),
            queue_id=records[0].queue_id,
            queue_offset=records[0].queue_offset,
            transaction_id=unique_key,
            msg_region="DefaultRegion",
            trace_on="true",
        )
        answer = Command(
            0,
            opaque=request.opaque,
            flag=1,
            version=OWN_VERSION,
            ext=response.encode(),
            encoding=request.encoding,
        )
        self.replies += frames.encode(answer)


def is_plain(own: bytes) -> bool:
    """Whether a message with these properties is only stored."""
    said = properties.parse(own)
    return said.get("WAIT", "true") == "true" and not {"DELAY", "TRAN_MSG"} & said.keys()


def entry_values(entry: DispatchEntry) -> dict[str, object]:
    return {name: getattr(entry, name) for name in ENTRY_FIELDS}


ENTRY_FIELDS = (
    *("topic", "queue_id", "queue_offset", "physical_offset", "size", "tags_code"),
    *("unique_key", "keys", "store_timestamp_ms", "sys_flag"),
)


def written(arena: Arena) -> list[tuple[int, bytes]]:
    """The position and bytes that would be written."""
    return [(run.position, run.data) for run in arena.runs()]


def assert_same(data: bytes, born_host: bytes = BORN_HOST) -> Fed:
    """Assert that the general path stores what the kernel accepted, with the same result."""
    mine = group()
    fed = kernel().feed(mine, data, 0, born_host)
    commands = FrameReader().decode(data[: fed.at])
    assert len(commands) == fed.count
    general = General(born_host)
    assert [general.take(request) for request in commands] == [True] * fed.count
    assert fed.replies == general.replies
    runs, expected = written(mine.arena), written(general.arena)
    assert runs == expected
    seen = []
    reader = EntryReader(FILE_BYTES, LEVELS)
    for position, piece in expected:
        seen += reader.read(piece, position).found
    assert [entry_values(entry) for entry in mine.entries] == [entry_values(e) for e in seen]
    return fed
