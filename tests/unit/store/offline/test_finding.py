"""Tests the order, the bound and the remedies of findings about a store."""

from __future__ import annotations

from gantrymq.store.offline.finding import KEPT_OF_A_KIND, Findings, Kind, Severity


def test_worst_findings_come_first() -> None:
    findings = Findings()
    findings.note(Kind.ABORT, "abort", "there")
    findings.error(Kind.LOG_DAMAGE, "commitlog", "broken", 5)
    findings.warn(Kind.LOG_TORN, "commitlog", "torn")
    assert [each.severity.name for each in findings.kept()] == ["ERROR", "WARNING", "NOTE"]
    assert [severity.name for severity, _ in findings.counts()] == ["ERROR", "WARNING", "NOTE"]
    assert not findings.is_sound


def test_store_with_only_notes_is_sound() -> None:
    findings = Findings()
    findings.note(Kind.ABORT, "abort", "there")
    assert findings.is_sound
    assert findings.has(Kind.ABORT, Severity.NOTE)
    assert not findings.has(Kind.ABORT)


def test_all_findings_are_counted_but_few_are_kept() -> None:
    findings = Findings()
    for position in range(1000):
        findings.error(Kind.UNIT_WRONG, "T/0", "wrong", position)
    assert findings.counts() == {(Severity.ERROR, Kind.UNIT_WRONG): 1000}
    assert [each.position for each in findings.kept()] == list(range(KEPT_OF_A_KIND))


def test_every_kind_has_a_remedy() -> None:
    assert all(kind.title and kind.todo for kind in Kind)
