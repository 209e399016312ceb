"""A real Prometheus watches a broker whose disk is slow: alerts fire, and end on a faster one.

The disk is a file system of this repository's own that a test makes slow (gantrymq.powercut): each
sync takes longer, as on a device that is overloaded, and writes go to memory as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.interop.ports import free_port
from gantrymq.interop.servers import Broker, NameServer, gantry_broker, gantry_name_server
from gantrymq.monitoring.clients import client
from gantrymq.monitoring.firing import (
    assert_quiet,
    quick_rules,
    wait_until_firing,
    wait_until_over,
)
from gantrymq.monitoring.server import Prometheus
from gantrymq.powercut.mount import Mount

pytestmark = pytest.mark.timeout(240)

PARTITION_BYTES = 1 << 30
SLOW_SECONDS = 0.8
SETTLE_SECONDS = 30.0
SETTINGS = {
    "brokerName": "broker-slow",
    "flushDiskType": "SYNC_FLUSH",
    "syncFlushTimeout": "60000",
}


@dataclass(frozen=True)
class SlowDisk:
    """A broker and its disk."""

    mount: Mount
    names: NameServer
    broker: Broker
    target: str


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlowDisk]:
    def folder(name: str) -> Path:
        return tmp_path_factory.mktemp(name)

    port = free_port()
    with ExitStack() as stack:
        mount = stack.enter_context(Mount(folder("disk")))
        mount.resize(PARTITION_BYTES)
        names = stack.enter_context(gantry_name_server(folder("names")))
        store = {"storePathRootDir": str(mount.root / "store")}
        settings = {**SETTINGS, **store, "metricsPort": str(port)}
        settings["storePathCommitLog"] = str(mount.root / "store" / "commitlog")
        broker = stack.enter_context(gantry_broker(folder("broker"), [names], settings))
        broker.create_topic("orders", 2)
        yield SlowDisk(mount, names, broker, f"127.0.0.1:{port}")


@pytest.fixture(scope="module")
def prometheus(slow: SlowDisk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with Prometheus(folder, {"slow": [slow.target]}, quick_rules()) as running:
        running.wait_for("up == 1", SETTLE_SECONDS)
        yield running


def test_a_disk_that_becomes_slow(slow: SlowDisk, prometheus: Prometheus, tmp_path: Path) -> None:
    raised = ("GantryLogSyncSlow", "GantryPutLatencyHigh")
    assert_quiet(prometheus, *raised)
    with client("sending", slow.names.address, tmp_path):
        prometheus.wait_for("gantry_broker_log_writes_total > 0", SETTLE_SECONDS)
        slow.mount.slow(SLOW_SECONDS)
        wait_until_firing(prometheus, *raised)
        slow.broker.kill()
        slow.mount.slow(0.0)
        slow.broker.start()
        wait_until_over(prometheus, *raised)
