"""Tests how long runs over all topics of a cluster wait."""

from __future__ import annotations

from gantrymq.operator.shell.work.run_pacing import SECONDS_MAX, SECONDS_PER_TOPIC, RunPacing

MANY, FEW = ("one", "many"), ("one", "few")


def test_the_first_run_begins_at_once() -> None:
    assert RunPacing().pause(MANY, 10_000, now=5.0) == 0


def test_a_run_that_follows_another_waits_the_longer_the_more_topics_there_are() -> None:
    pacing = RunPacing()
    pacing.ended(MANY, 5.0)

    assert pacing.pause(MANY, 100, now=5.1) == 100 * SECONDS_PER_TOPIC
    assert pacing.pause(MANY, 10_000, now=5.1) == 10_000 * SECONDS_PER_TOPIC
    assert pacing.pause(MANY, 10_000_000, now=5.1) == SECONDS_MAX


def test_a_run_long_after_the_one_before_begins_at_once() -> None:
    pacing = RunPacing()
    pacing.ended(MANY, 5.0)

    assert pacing.pause(MANY, 10_000, now=5.0 + SECONDS_MAX) == 0


def test_clusters_do_not_wait_for_each_other_and_can_be_forgotten() -> None:
    pacing = RunPacing()
    pacing.ended(MANY, 5.0)

    assert pacing.pause(FEW, 10_000, now=5.1) == 0
    pacing.forget(MANY)
    assert pacing.pause(MANY, 10_000, now=5.1) == 0
