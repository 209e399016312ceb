"""A real Prometheus watches real brokers: dashboards answer, alerts fire and end.

Dashboards of what only Kubernetes or Spark have are asked of a page of samples, in test_dashboards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.interop.servers import gantry_name_server
from gantrymq.monitoring import cluster
from gantrymq.monitoring.cluster import Cluster
from gantrymq.monitoring.firing import (
    END_SECONDS,
    FIRE_SECONDS,
    firing,
    quick_rules,
    wait_until_firing,
    wait_until_over,
)
from gantrymq.monitoring.queries import PanelQuery, all_queries
from gantrymq.monitoring.server import Prometheus
from tools.monitoring.promql import metric_names

pytestmark = pytest.mark.timeout(300)

SETTLE_SECONDS = 60.0

# Dashboards and metrics of components that this cluster does not have.
OTHER_DASHBOARDS = {"operator", "spark"}
OF_ELECTIONS = (
    *("gantry_broker_epoch", "gantry_broker_led_epoch", "gantry_broker_in_sync_members"),
    *("gantry_broker_lease_", "gantry_broker_ignored_wishes", "gantry_broker_disk_foreign"),
    *("gantry_broker_seat_conflicts", "gantry_broker_slice_", "gantry_broker_foreign_slices"),
    "gantry_broker_role_changes_total",
)
# Metrics that have series only once the broker refused a request, or a page left out series.
OF_SHORTAGES = ("gantry_broker_flow_control_total", "gantry_metrics_dropped_series")
# These brokers have no certificate; that of test_live_broker has.
OF_CERTIFICATES = ("gantry_tls_certificate_expires_timestamp_seconds",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return tmp_path_factory.mktemp


@pytest.fixture(scope="module")
def watched(folder: Callable[[str], Path]) -> Iterator[Cluster]:
    with cluster.running(folder) as running, running.traffic("steady"):
        running.run("offline", SETTLE_SECONDS)
        yield running


@pytest.fixture(scope="module")
def prometheus(watched: Cluster, folder: Callable[[str], Path]) -> Iterator[Prometheus]:
    targets = {"watched": list(watched.targets.values())}
    with Prometheus(folder("prometheus"), targets, quick_rules()) as running:
        running.wait_for("count(up == 1) == 3", SETTLE_SECONDS)
        yield running


def answers_here(query: PanelQuery) -> bool:
    """Whether this cluster has all metrics of the query."""
    if query.dashboard in OTHER_DASHBOARDS:
        return False
    absent = (*OF_ELECTIONS, *OF_SHORTAGES, *OF_CERTIFICATES)
    return not any(name.startswith(absent) for name in metric_names(query.expression))


def test_all_panels_show_data_and_consumers_that_fail_raise_alerts(
    watched: Cluster, prometheus: Prometheus
) -> None:
    raised = (
        *("GantryDeadLetters", "GantryRetryStorm", "GantryGroupConflict", "GantryLagTooOld"),
        *("GantryGroupOfflineWithLag", "GantryHalfMessageOld", "GantryOldestUnacknowledged"),
    )
    with watched.traffic("failing"):
        wait_until_firing(prometheus, *raised)
        asked = [query for query in all_queries() if answers_here(query)]
        assert len(asked) > 90

        empty = list(asked)

        def shows_all() -> bool:
            empty[:] = [each for each in empty if not prometheus.query(each.expression)]
            return not empty

        with suppress(TimeoutError):
            wait_until(shows_all, "every panel shows data", SETTLE_SECONDS)
        assert [str(each) for each in empty] == []
    with watched.traffic("mending"):
        wait_until_over(prometheus, *raised)


def test_a_slave_that_hangs_raises_alerts_until_it_follows_again(
    watched: Cluster, prometheus: Prometheus
) -> None:
    raised = ("GantryReplicaLag", "GantryBrokerExpired")
    watched.slave.pause()
    try:
        watched.run("ballast", SETTLE_SECONDS)
        wait_until_firing(prometheus, *raised)
    finally:
        watched.slave.resume()
    wait_until_over(prometheus, *raised)


def test_a_name_server_that_no_broker_knows_disagrees(
    watched: Cluster, prometheus: Prometheus, folder: Callable[[str], Path]
) -> None:
    spare = watched.targets["spare"].rpartition(":")[2]
    with gantry_name_server(folder("spare"), {"metricsPort": spare}):
        wait_until_firing(prometheus, "GantryNameServersDisagree")
    wait_until_over(prometheus, "GantryNameServersDisagree")


def test_a_master_that_is_killed_raises_alerts_until_it_is_back(
    watched: Cluster, prometheus: Prometheus
) -> None:
    raised = (
        firing("GantryNoMaster"),
        firing("GantryTargetDown", instance=watched.targets["master"]),
    )
    watched.master.kill()
    for alert in raised:
        prometheus.wait_for(alert, FIRE_SECONDS)
    watched.master.start()
    for alert in raised:
        prometheus.wait_until_gone(alert, END_SECONDS)
