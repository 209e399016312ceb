"""Tests the chart's admission policy: users annotate only requests of a Lease, members the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster
from gantrymq.e2e.kubectl import KubectlError, Namespace, wait_until
from gantrymq.e2e.operator_install import Operator

PREFIX = "gantrymq.dev/"
KNOWN_SECONDS = 30.0
"""Until the API server goes by a BrokerCluster that was annotated a moment ago."""


def is_refused(write: Callable[[], object]) -> bool:
    """Whether the policy denies it; any other refusal is an error."""
    try:
        write()
    except KubectlError as error:
        if "ValidatingAdmissionPolicy" not in str(error):
            raise
        return True
    return False


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_users_annotate_requests_but_repair_a_lease_only_when_allowed(
    operator: Operator, namespace: Namespace
) -> None:
    del operator
    cluster = BrokerCluster(namespace, "guarded")
    cluster.apply(groups=1, membersPerGroup=2, storage={"size": "1Gi"})
    cluster.wait_until_whole()
    name = f"{cluster.name}-broker-0"

    def annotate(**notes: str) -> None:
        named = {f"{PREFIX}{key}": value for key, value in notes.items()}
        namespace.patch("lease", name, {"metadata": {"annotations": named}})

    def delete() -> None:
        namespace.run("delete", "lease", name)

    annotate(preferred="2")
    assert is_refused(lambda: annotate(epoch="999"))
    assert is_refused(lambda: namespace.patch("lease", name, {"spec": {"holderIdentity": "2"}}))
    assert is_refused(delete)

    cluster.allow_lease_edits()
    wait_until(lambda: not is_refused(delete), "the Lease may be deleted", KNOWN_SECONDS)
    wait_until(lambda: cluster.holder() != 0, "the master makes it anew", KNOWN_SECONDS)
    cluster.wait_until_whole()
