"""Tests that the catalogue of stages fits the Makefile and this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.stage_catalogue import CATALOGUE, Entry, missing_tools

MAKEFILE = (Path(__file__).parents[3] / "Makefile").read_text()


@pytest.mark.parametrize("verb", CATALOGUE)
def test_every_stage_is_a_verb(verb: str) -> None:
    assert re.search(rf"^{verb}:", MAKEFILE, re.MULTILINE)


def test_every_verb_that_a_test_run_names_has_an_entry() -> None:
    lists = re.findall(r"^(?:TEST|REST)\w* := (.*)$", MAKEFILE, re.MULTILINE)
    assert len(lists) == 4
    assert {verb for verbs in lists for verb in re.split(r"[ +]", verbs)} <= CATALOGUE.keys()


def test_a_stage_that_needs_nothing_can_run() -> None:
    assert missing_tools("lint") is None
    assert missing_tools("a stage of another list") is None


def test_missing_tool_is_named_with_its_package_and_the_switch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("INTEROP", raising=False)
    told = missing_tools("interop-clients") or ""
    assert "mvn (Debian: apt-get install maven)" in told
    assert told.endswith("INTEROP=0 leaves it out")
    monkeypatch.setenv("INTEROP", "0")
    assert missing_tools("interop-clients") is None


def test_entry_needs_nothing_by_default() -> None:
    assert Entry("counts to three").needs == ()
