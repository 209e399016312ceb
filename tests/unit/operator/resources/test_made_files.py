"""Tests that the generated definitions and documents are current."""

from __future__ import annotations

from tools.resources import outdated_files


def test_files_made_from_the_model_are_current() -> None:
    assert outdated_files() == [], "run: python -m tools.resources"
