"""A real Prometheus watches an operator's process: alerts fire and end.

The Kubernetes API is the simulated one of the operator's own tests: it can be made to refuse and
to hang at will, and a real one cannot. The process, its HTTP and its rules for trying again are
real.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantrymq.fakes_kube.faults import Faults
from gantrymq.monitoring import operator_site
from gantrymq.monitoring.firing import (
    assert_quiet,
    quick_rules,
    wait_until_firing,
    wait_until_over,
)
from gantrymq.monitoring.operator_site import OperatorSite
from gantrymq.monitoring.server import Prometheus
from gantrymq.operator.shell.work.work_queue import LIMITS, QueueLane

pytestmark = pytest.mark.timeout(240)

SETTLE_SECONDS = 30.0
HANGING = [f"hanging-{number}" for number in range(LIMITS[QueueLane.URGENT] + 4)]
REFUSED = [f"refused-{number}" for number in range(4)]
# The operator retries a failing key at growing intervals, so a window of 15 s would be long.
DIVISORS = {"GantryOperatorFailing": 150}


def lease_refused(faults: Faults) -> None:
    for verb in ("POST", "PUT", "PATCH"):
        faults.refusals[f"{verb} leases/gantry-operator"] = (403, "leases is forbidden")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorSite]:
    with operator_site.running(tmp_path_factory.mktemp("operator"), lease_refused) as site:
        yield site


@pytest.fixture(scope="module")
def prometheus(
    site: OperatorSite, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with Prometheus(folder, {"operator": [site.target]}, quick_rules(DIVISORS)) as running:
        yield running


def test_an_operator_that_may_not_write_its_lease(
    site: OperatorSite, prometheus: Prometheus
) -> None:
    wait_until_firing(prometheus, "GantryOperatorWithoutLeader")
    site.mend_api()
    wait_until_over(prometheus, "GantryOperatorWithoutLeader")
    prometheus.wait_for("gantry_operator_leader == 1", SETTLE_SECONDS)


def test_an_api_that_refuses_what_is_wanted(site: OperatorSite, prometheus: Prometheus) -> None:
    assert_quiet(prometheus, "GantryOperatorFailing")

    def refuse(faults: Faults) -> None:
        for verb in ("POST", "PATCH"):
            faults.refusals[f"{verb} secrets/orders-replication"] = (403, "secrets is forbidden")

    site.break_api(refuse)
    site.add_clusters(*REFUSED)
    wait_until_firing(prometheus, "GantryOperatorFailing")
    site.mend_api()
    wait_until_over(prometheus, "GantryOperatorFailing")


def test_an_api_that_does_not_answer(site: OperatorSite, prometheus: Prometheus) -> None:
    """More clusters wait for an answer than the operator works on at the same time."""
    assert_quiet(prometheus, "GantryOperatorLate")
    site.break_api(lambda faults: faults.black_holes.update(HANGING))
    site.add_clusters(*HANGING)
    wait_until_firing(prometheus, "GantryOperatorLate")
    site.mend_api()
    wait_until_over(prometheus, "GantryOperatorLate")


def test_a_kind_that_may_not_be_listed(site: OperatorSite, prometheus: Prometheus) -> None:
    assert_quiet(prometheus, "GantryOperatorForbidden")

    def refuse(faults: Faults) -> None:
        faults.list_refusals["nodes"] = (403, "nodes is forbidden")

    site.break_api(refuse)
    site.forget()
    wait_until_firing(prometheus, "GantryOperatorForbidden")
    site.mend_api()
    wait_until_over(prometheus, "GantryOperatorForbidden")
