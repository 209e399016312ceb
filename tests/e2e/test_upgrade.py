"""An upgrade from the chart of the commit before restarts no broker."""

from __future__ import annotations

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster
from gantrymq.e2e.kubectl import Namespace, wait_until
from gantrymq.e2e.operator_install import CHART, ROOT, Operator

CHART_FOLDER = CHART.relative_to(ROOT)


def previous_chart(folder: Path) -> Path:
    """The chart before its last change."""
    words = ("log", "--format=%H", "-n", "2", "--", str(CHART_FOLDER))
    commits = git(*words).decode().split()
    assert len(commits) == 2, "the chart has a history of two commits"
    archive = git("archive", "--format=tar", commits[1], str(CHART_FOLDER))
    with tarfile.open(fileobj=BytesIO(archive)) as content:
        # Before Python 3.11.4 there are no filters.
        content.extraction_filter = getattr(tarfile, "data_filter", None)
        content.extractall(folder)  # noqa: S202 - an archive of ours
    return folder / CHART_FOLDER


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout


@pytest.mark.e2e
@pytest.mark.timeout(400)
def test_brokers_run_on_while_the_operator_is_upgraded(
    operator: Operator, namespace: Namespace, tmp_path: Path
) -> None:
    operator.install(chart=previous_chart(tmp_path))
    cluster = BrokerCluster(namespace, "steady")
    cluster.apply(groups=1, membersPerGroup=2, storage={"size": "1Gi"})
    cluster.wait_until_whole()
    before = identities(namespace)
    pods = operator_uids(operator)

    # Another image for new groups as well: those that exist keep theirs.
    operator.install("logLevel=DEBUG", "image.pullPolicy=Never")
    wait_until(lambda: not pods & operator_uids(operator), "the old operators have ended", 60.0)
    cluster.wait_until_whole()
    namespace.patch("brokercluster", "steady", {"metadata": {"labels": {"looked": "at"}}})
    cluster.wait_until_whole()
    assert identities(namespace) == before


def operator_uids(operator: Operator) -> set[str]:
    return {pod["metadata"]["uid"] for pod in operator.pods()}


def identities(namespace: Namespace) -> dict[str, tuple[str, int]]:
    """The uid and the restarts of each pod."""
    return {
        pod["metadata"]["name"]: (
            pod["metadata"]["uid"],
            sum(each["restartCount"] for each in pod["status"].get("containerStatuses", [])),
        )
        for pod in namespace.list("pods")
    }
