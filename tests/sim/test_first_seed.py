"""Where the histories of a run begin."""

from __future__ import annotations

import pytest

from gantrymq.sim.first_seed import first_seed


def test_a_seed_that_is_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANTRY_FIRST_SEED", "17")
    assert first_seed() == 17


def test_a_commit_always_gives_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GANTRY_FIRST_SEED", raising=False)
    assert 0 <= first_seed() == first_seed() < 1 << 32


def test_without_git_histories_begin_at_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GANTRY_FIRST_SEED", raising=False)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert first_seed() == 0
