"""Failovers under load: unmodified Java clients in the cluster lose no acknowledged message.

GANTRY_E2E_REPEATS says how often pod deletion and switchover are repeated (3, the long run 20).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Namespace, wait_until
from gantrymq.e2e.ledger import Strike
from gantrymq.e2e.operator_install import Operator
from gantrymq.e2e.scene import GROUP, Scene, api_answers, check, control, switch, under_load

REPEATS = int(os.environ.get("GANTRY_E2E_REPEATS", "3"))
AWAY_SECONDS = 60.0


@pytest.fixture
def scene(operator: Operator, java_image: str, namespace: Namespace) -> Iterator[Scene]:
    del operator, java_image
    with under_load(namespace) as made:
        yield made


@pytest.mark.e2e
@pytest.mark.timeout(1800)
def test_no_acknowledged_message_is_lost_by_kills_deletions_and_switchovers(
    scene: Scene, figures: Figures
) -> None:
    cluster = scene.cluster
    scene.strike("broker process killed", lambda m: cluster.kill_broker(cluster.pod_name(GROUP, m)))
    for number in range(REPEATS):
        by_force = bool(number % 2)
        kind = "pod deleted by force" if by_force else "pod deleted"
        scene.strike(kind, partial(_delete_pod, cluster, by_force=by_force))
    for _ in range(REPEATS):
        scene.strike("switchover", lambda _: switch(cluster))
    effects = check(scene, figures)
    moved = [each for each in effects if each.has_moved]
    assert len(moved) >= 0.9 * len(effects) or len(effects) - len(moved) <= 1


@pytest.mark.e2e
@pytest.mark.timeout(900)
def test_failover_needs_neither_operator_nor_api_server(
    operator: Operator, scene: Scene, figures: Figures
) -> None:
    cluster = scene.cluster
    operator.scale(0)
    try:
        began, before = time.monotonic_ns(), cluster.holder(GROUP)
        cluster.kill_broker(cluster.pod_name(GROUP, before))
        wait_until(lambda: cluster.holder(GROUP) not in (0, before), "another leads", 30.0)
        scene.strikes.append(
            Strike("killed, operator dead", began, time.monotonic_ns() + 10**9, has_moved=True)
        )
    finally:
        operator.scale(2)
    scene.strike("API server away 60 s", lambda _: _api_away(), moves=False)
    effects = check(scene, figures)
    assert not effects[-1].has_moved, "an API server that is away moves no master"


def _delete_pod(cluster: BrokerCluster, member: int, *, by_force: bool) -> None:
    cluster.delete_pod(cluster.pod_name(GROUP, member), by_force=by_force)


def _api_away() -> None:
    control("api", "stop")
    try:
        time.sleep(AWAY_SECONDS)
    finally:
        control("api", "start")
    wait_until(api_answers, "the API server answers", 60.0)
