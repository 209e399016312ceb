"""Records the progress of an archive: one small file for each streaming query that writes to it.

    {"v":1,"query":"…","batch":7,"rows":…,"bytes":…,
     "upTo":{"orders":{"broker-a":{"0":1234}}}}        the next offset that is not archived

Invariant: a record is written after its batch. All batches up to `batch` are archived completely,
are not written again, and may be compacted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.spark.jobs.archiving.files import BESIDE, Files
from gantrymq.spark.jobs.failures import JobError
from gantrymq.spark.options.assignment import QueueKey

FOLDER: Final = "_archive"
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class QueueCount:
    """The messages of one queue in one batch."""

    queue: QueueKey
    rows: int
    size: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class Record:
    """What one streaming query has archived."""

    query: str
    batch: int = -1
    rows: int = 0
    size: int = 0
    up_to: Mapping[QueueKey, int] = field(default_factory=dict)

    def after(self, batch: int, counts: Iterable[QueueCount]) -> Record:
        counted = tuple(counts)
        return Record(
            self.query,
            batch,
            self.rows + sum(each.rows for each in counted),
            self.size + sum(each.size for each in counted),
            {**self.up_to, **{each.queue: each.next_offset for each in counted}},
        )


def encode(record: Record) -> str:
    return json.dumps(
        {
            "v": VERSION,
            "query": record.query,
            "batch": record.batch,
            "rows": record.rows,
            "bytes": record.size,
            "upTo": nested(record.up_to),
        },
        sort_keys=True,
    )


def decode(text: str, path: str) -> Record:
    """Parse what `encode` makes. Raises JobError on anything else."""
    try:
        value = json.loads(text)
        if value["v"] != VERSION:
            raise ValueError(f"version {value['v']}")  # noqa: TRY301 - told as the others
        up_to = {
            QueueKey(topic, broker_name, int(queue_id)): int(offset)
            for topic, brokers in value["upTo"].items()
            for broker_name, queues in brokers.items()
            for queue_id, offset in queues.items()
        }
        return Record(
            str(value["query"]), int(value["batch"]), int(value["rows"]), int(value["bytes"]), up_to
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobError(
            f"{path} is not a record of an archive ({error!r}): restore it from a backup, or remove"
            " it and give a new --checkpoint, which may archive messages twice"
        ) from error


def nested(values: Mapping[QueueKey, int]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the values by topic, broker and queue, as the options of the format write offsets."""
    result: dict[str, dict[str, dict[str, int]]] = {}
    for queue, value in sorted(values.items()):
        brokers = result.setdefault(queue.topic, {})
        brokers.setdefault(queue.broker_name, {})[str(queue.queue_id)] = value
    return result


def furthest(records: Iterable[Record], topics: Iterable[str]) -> dict[QueueKey, int]:
    """Return the offsets at which a new query begins: the highest that any query has archived of
    these topics, or of all topics if none is given."""
    wanted = set(topics)
    found: dict[QueueKey, int] = {}
    for record in records:
        for queue, offset in record.up_to.items():
            if not wanted or queue.topic in wanted:
                found[queue] = max(offset, found.get(queue, 0))
    return found


@final
class RecordFolder:
    """The records of one archive."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._folder = f"{path}/{FOLDER}"

    def of(self, query: str) -> Record:
        """Return the record of a query; a new one if the query has archived nothing yet."""
        path = self._path(query)
        if self._files.exists(path):
            return decode(self._files.read(path), path)
        return self._interrupted(query, path + BESIDE)

    def _interrupted(self, query: str, path: str) -> Record:
        """Read the new record that a write left beside the old one when it was interrupted.

        The new record is complete, unless it is the query's first, which counts as not written.
        """
        if self._files.exists(path):
            try:
                return decode(self._files.read(path), path)
            except JobError:
                pass
        return Record(query)

    def all(self) -> list[Record]:
        names = (name.removesuffix(BESIDE) for name in self._files.names(self._folder))
        queries = {name.removesuffix(".json") for name in names if name.endswith(".json")}
        return [self.of(query) for query in sorted(queries)]

    def write(self, record: Record) -> None:
        self._files.write(self._path(record.query), encode(record))

    def _path(self, query: str) -> str:
        return f"{self._folder}/{query}.json"
