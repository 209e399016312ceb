"""Writes the audit trail of one server to its log, and as JSON lines to a file.

    {"time": "2026-11-29T03:20:00.123Z", "server": "broker broker-a:0", "action": ..., ...}

No request waits for the audit trail, so a full or slow disk stops no server. Entries that cannot be
written are counted, and the next line that can be written says how many are missing.

Invariants: one thread writes, one batch at a time, in order; the entries that wait are bounded.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol, final

from gantrymq.audit.record import AuditRecord
from gantrymq.metrics.samples import Samples
from gantrymq.metrics.tables import process
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.storage.rotated_file import RotatedFile, Rotation
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import JsonObject

# Administrators cause entries one by one; this many wait only if the disk does not respond.
WAITING_BYTES_MAX: Final = 8 << 20

LINES_MAX: Final = 300
LINES_SECONDS: Final = 10.0


@final
@dataclass(frozen=True, slots=True)
class AuditFile:
    """The file of the audit trail, and how it is rotated."""

    path: Path
    rotation: Rotation


class AuditSettings(Protocol):
    """The settings that brokers and name servers have in common for the audit trail."""

    @property
    def audit_log_file(self) -> str: ...

    @property
    def audit_log_file_count(self) -> int: ...

    @property
    def audit_log_file_size(self) -> int: ...


def audit_file(settings: AuditSettings) -> AuditFile | None:
    """The audit file that the settings name; None if they name none."""
    if not settings.audit_log_file:
        return None
    rotation = Rotation(settings.audit_log_file_size, settings.audit_log_file_count)
    return AuditFile(Path(settings.audit_log_file), rotation)


@final
class AuditLog:
    """The audit trail of one server, which owns it and calls it on its event loop."""

    __slots__ = (
        "_clock",
        "_file",
        "_log",
        "_lost",
        "_missing",
        "_quiet_log",
        "_server",
        "_thread",
        "_waiting",
        "_waiting_bytes",
        "_writing",
        "_written",
    )

    def __init__(self, server: str, file: AuditFile | None, clock: Clock = SYSTEM_CLOCK) -> None:
        """Without a file, entries go to the log only."""
        self._server = server
        self._clock = clock
        self._log = Log("audit")
        self._quiet_log = QuietLog(self._log, lines_max=LINES_MAX, interval_s=LINES_SECONDS)
        self._file = None if file is None else RotatedFile(file.path, file.rotation)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="audit")
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._writing: asyncio.Future[None] | None = None
        self._written = 0
        self._lost = 0
        self._missing = 0
        """Entries lost since the last successful write to the file."""

    def write(self, record: AuditRecord) -> None:
        """Log the entry and queue it for the file. Does not block."""
        self._tell(record)
        if self._file is None:
            return
        line = self._line(record.to_json())
        if self._waiting_bytes + len(line) > WAITING_BYTES_MAX:
            self._lose(1)
            return
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._writing is None:
            self._write_next()

    async def close(self) -> None:
        """Write the queued entries; entries that the disk refuses are lost."""
        while self._writing is not None:
            await self._settled()
        if self._missing and self._file is not None:
            self._write_next()
            await self._settled()
        if self._file is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._file.close)
        self._thread.shutdown()

    async def _settled(self) -> None:
        """Wait for the batch that is being written."""
        if self._writing is not None:
            await asyncio.wait([self._writing])
            await asyncio.sleep(0)  # the future's callback runs in the next loop iteration

    def samples(self) -> Iterator[Samples]:
        """The numbers of entries written to the file and lost."""
        if self._file is not None:
            rows = [(("written",), self._written), (("lost",), self._lost)]
            yield Samples(process.AUDIT_ENTRIES, rows)

    # ------------------------------------------------------------------ the log

    def _tell(self, record: AuditRecord) -> None:
        value = record.to_json()
        fields: dict[str, object] = {
            name: _text(value[name])
            for name in ("outcome", "objects", "account", "address", "certificate", "reason")
            if value.get(name)
        }
        for name in ("old", "new"):
            if name in value:
                fields[name] = javajson.dumps_standard(value[name]).decode()
        write = self._quiet_log.info if record.outcome == "done" else self._quiet_log.warning
        write(record.outcome.value, self._clock.monotonic(), record.action, **fields)

    # ------------------------------------------------------------------ the file

    def _line(self, value: JsonObject) -> bytes:
        wall_ms = self._clock.wall_ms()
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(wall_ms // 1000))
        head: JsonObject = {"time": f"{seconds}.{wall_ms % 1000:03}Z", "server": self._server}
        return javajson.dumps_standard({**head, **value}) + b"\n"

    def _write_next(self) -> None:
        assert self._file is not None, "nothing waits without a file"
        lines, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if self._missing:
            lines.insert(0, self._line({"action": "audit.lost", "entries": self._missing}))
        loop = asyncio.get_running_loop()
        append = partial(self._file.append, b"".join(lines))
        self._writing = loop.run_in_executor(self._thread, append)
        self._writing.add_done_callback(partial(self._ended, len(lines), self._missing))

    def _ended(self, count: int, told_missing: int, batch: asyncio.Future[None]) -> None:
        self._writing = None
        failure = batch.exception()
        entries = count - bool(told_missing)
        if failure is None:
            self._written += entries
            self._missing -= told_missing
        else:
            self._lose(entries)
            now = self._clock.monotonic()
            self._quiet_log.warning(
                "failure", now, "audit entries lost", entries=entries, cause=str(failure)
            )
        if self._waiting:
            self._write_next()

    def _lose(self, entries: int) -> None:
        self._lost += entries
        self._missing += entries


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
