"""Tests the audit file of one server: JSON lines, and the loss that a failing disk causes."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.audit.record import Actor, AuditOutcome, AuditRecord, audit_record
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.storage import audit_log
from gantrymq.runtime.storage.audit_log import AuditLog, audit_file
from gantrymq.wire.jsonvalue import Json


@dataclass(frozen=True)
class AuditSettings:
    audit_log_file: str
    audit_log_file_count: int = 2
    audit_log_file_size: int = 1 << 20


def entry(name: str) -> AuditRecord:
    old: dict[str, Json] = {name: {"perm": 6}}
    new: dict[str, Json] = {name: {"perm": 4}}
    actor = Actor("10.0.0.7:5000", "operator")
    return audit_record("topic.update", 17, actor, AuditOutcome.DONE, old=old, new=new)


def trail(path: Path | str) -> AuditLog:
    return AuditLog("broker a:0", audit_file(AuditSettings(str(path))), VirtualClock())


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def counts(log: AuditLog) -> dict[str, float]:
    return {labels[0]: value for one in log.samples() for labels, value in _rows(one.rows)}


def _rows(rows: object) -> list[tuple[tuple[str, ...], float]]:
    assert isinstance(rows, list)
    return rows


async def test_an_entry_is_a_line_with_time_and_server(tmp_path: Path) -> None:
    log = trail(tmp_path / "audit.log")
    log.write(entry("Orders"))
    log.write(entry("Bills"))
    await log.close()
    first, second = lines(tmp_path / "audit.log")
    assert (first["time"], first["server"]) == ("2023-11-14T22:13:20.000Z", "broker a:0")
    assert (first["objects"], second["objects"]) == (["Orders"], ["Bills"])
    assert counts(log) == {"written": 2, "lost": 0}


async def test_without_a_file_entries_are_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    log = trail("")
    with caplog.at_level(logging.INFO, "audit"):
        log.write(entry("Orders"))
    await log.close()
    line = caplog.messages[0]
    assert line.startswith("topic.update outcome=done")
    assert "account=operator address=10.0.0.7:5000" in line
    assert counts(log) == {}


async def test_failing_disk_loses_entries_and_records_their_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "audit.log"
    path.mkdir()  # nothing can be written to a folder
    log = trail(path)
    log.write(entry("Orders"))
    while log._writing is not None:
        await log._settled()
    assert any("audit entries lost" in line for line in caplog.messages)
    path.rmdir()
    log.write(entry("Bills"))
    await log.close()
    told = lines(path)
    assert [each["action"] for each in told] == ["audit.lost", "topic.update"]
    assert told[0]["entries"] == 1
    assert counts(log) == {"written": 1, "lost": 1}


async def test_entries_that_wait_for_the_disk_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "WAITING_BYTES_MAX", 1000)
    log = trail(tmp_path / "audit.log")
    for _ in range(20):
        log.write(entry("Orders"))
    await log.close()
    told = counts(log)
    assert told["written"] + told["lost"] == 20
    assert told["lost"] >= 14
    named = [each for each in lines(tmp_path / "audit.log") if "objects" in each]
    assert len(named) == told["written"]
