"""A real Prometheus watches a master that waits for its slave: an alert fires, and ends.

Each message waits in the master's memory until the slave has it. When the slave hangs, the messages
fill their memory account, and the master refuses more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.monitoring import cluster
from gantrymq.monitoring.cluster import Cluster
from gantrymq.monitoring.firing import (
    assert_quiet,
    firing,
    quick_rules,
    wait_until_firing,
    wait_until_over,
)
from gantrymq.monitoring.server import Prometheus

pytestmark = pytest.mark.timeout(240)

SETTLE_SECONDS = 60.0
# The master keeps waiting for the slave, however long it hangs and however far it is behind.
SETTINGS = {
    "flushDiskType": "ASYNC_FLUSH",
    "slaveTimeout": "60000",
    "haSlaveFallbehindMax": str(1 << 30),
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder: Callable[[str], Path] = tmp_path_factory.mktemp
    with cluster.running(folder, SETTINGS, master_role="SYNC_MASTER") as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(pair: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    targets = {"pair": [pair.targets["master"], pair.targets["slave"]]}
    with Prometheus(folder, targets, quick_rules()) as running:
        running.wait_for("count(up == 1) == 2", SETTLE_SECONDS)
        yield running


def test_a_slave_that_hangs_while_large_messages_wait_for_it(
    pair: Cluster, prometheus: Prometheus
) -> None:
    assert_quiet(prometheus, "GantryFlowControl")
    pair.slave.pause()
    try:
        with pair.traffic("heavy"):
            wait_until_firing(prometheus, "GantryFlowControl")
            assert prometheus.query(firing("GantryFlowControl", cause="overload"))
    finally:
        pair.slave.resume()
    wait_until_over(prometheus, "GantryFlowControl")
