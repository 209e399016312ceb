"""A real Prometheus watches a broker with a small disk: alerts fire and end.

Each test brings about a cause that a runbook names, and mends it as the runbook says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gantrymq.monitoring import lone_broker
from gantrymq.monitoring.clients import client, run_client
from gantrymq.monitoring.firing import (
    assert_quiet,
    quick_rules,
    wait_until_firing,
    wait_until_over,
)
from gantrymq.monitoring.lone_broker import LoneBroker
from gantrymq.monitoring.server import Prometheus

pytestmark = pytest.mark.timeout(240)

SETTLE_SECONDS = 60.0
# Divisors of durations, where 60 is not enough: no rule shall wait for more than a few seconds.
DIVISORS = {
    "GantryBrokerGone": 180,
    "GantryDiskWillFill": 360,
    "GantryLagGrowing": 180,
    "GantryLoopLag": 150,
    "GantrySeriesDropped": 300,
    "GantryTimerLost": 180,
}


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneBroker]:
    folder: Callable[[str], Path] = tmp_path_factory.mktemp
    with lone_broker.running(folder) as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(lone: LoneBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with Prometheus(folder, {"lone": lone.targets}, quick_rules(DIVISORS)) as running:
        running.wait_for("count(up == 1) == 2", SETTLE_SECONDS)
        yield running


def test_a_registration_that_is_damaged(lone: LoneBroker, prometheus: Prometheus) -> None:
    assert_quiet(prometheus, "GantryNameServerRefuses")
    lone.register_damaged()
    wait_until_firing(prometheus, "GantryNameServerRefuses")
    wait_until_over(prometheus, "GantryNameServerRefuses")


def test_a_certificate_that_expires_soon(lone: LoneBroker, prometheus: Prometheus) -> None:
    """The limit of two weeks is five hours here."""
    prometheus.wait_for("gantry_tls_certificate_expires_timestamp_seconds", SETTLE_SECONDS)
    assert_quiet(prometheus, "GantryCertificateExpires")
    lone.renew_certificate(timedelta(hours=1))
    wait_until_firing(prometheus, "GantryCertificateExpires")
    lone.renew_certificate(timedelta(days=2))
    wait_until_over(prometheus, "GantryCertificateExpires")


def test_a_process_that_stalls_again_and_again(lone: LoneBroker, prometheus: Prometheus) -> None:
    assert_quiet(prometheus, "GantryLoopLag")
    with lone.stalling():
        wait_until_firing(prometheus, "GantryLoopLag")
    wait_until_over(prometheus, "GantryLoopLag")


def test_more_topics_than_the_limit_has_room_for(
    lone: LoneBroker, prometheus: Prometheus, tmp_path: Path
) -> None:
    assert_quiet(prometheus, "GantrySeriesDropped")
    run_client("many", lone.names.address, tmp_path, SETTLE_SECONDS)
    wait_until_firing(prometheus, "GantrySeriesDropped")
    lone.restart_with({"metricsOtelCardinalityLimit": "1000"})
    wait_until_over(prometheus, "GantrySeriesDropped")


def test_a_group_that_falls_behind(
    lone: LoneBroker, prometheus: Prometheus, folder: Callable[[str], Path]
) -> None:
    assert_quiet(prometheus, "GantryLagGrowing")
    names = lone.names.address
    with client("flood", names, folder("flood")):
        run_client("offline", names, folder("offline"), SETTLE_SECONDS)
        wait_until_firing(prometheus, "GantryLagGrowing")
        with client("draining", names, folder("draining")):
            wait_until_over(prometheus, "GantryLagGrowing")


def test_files_of_the_log_that_are_lost_while_the_broker_is_down(
    lone: LoneBroker, prometheus: Prometheus, folder: Callable[[str], Path]
) -> None:
    """Timer messages wait in the first of them."""
    assert_quiet(prometheus, "GantryTimerLost")
    files = lone.log_files()
    run_client("timers", lone.names.address, folder("timers"), SETTLE_SECONDS)
    lone.lose(files)
    wait_until_firing(prometheus, "GantryTimerLost")
    wait_until_over(prometheus, "GantryTimerLost")


def test_a_disk_that_fills_until_the_volume_is_larger(
    lone: LoneBroker, prometheus: Prometheus, folder: Callable[[str], Path]
) -> None:
    """Timer messages that become due while the disk is full are late."""
    raised = ("GantryDiskFull", "GantryRefusesWrites", "GantryTimerLate", "GantryDiskWillFill")
    assert_quiet(prometheus, *raised)
    run_client("filling", lone.names.address, folder("filling"), SETTLE_SECONDS)
    wait_until_firing(prometheus, *raised)
    lone.enlarge()
    wait_until_over(prometheus, *raised)


def test_a_broker_that_is_away(lone: LoneBroker, prometheus: Prometheus) -> None:
    assert_quiet(prometheus, "GantryBrokerGone")
    lone.broker.kill()
    wait_until_firing(prometheus, "GantryBrokerGone")
    lone.broker.start()
    wait_until_over(prometheus, "GantryBrokerGone")


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    def made(name: str) -> Path:
        path = tmp_path / name
        path.mkdir()
        return path

    return made
