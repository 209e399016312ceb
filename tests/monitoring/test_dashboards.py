"""Every query of every dashboard is understood by a real Prometheus and finds its series.

It scrapes a page with every metric of the table: operators, Leases and Spark included.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.monitoring.queries import all_queries
from gantrymq.monitoring.sample_page import SamplePage
from gantrymq.monitoring.server import Prometheus
from tools.monitoring.alerts import GROUPS
from tools.monitoring.rules import rule_file

SETTLE_SECONDS = 30.0


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder: Path = tmp_path_factory.mktemp("prometheus")
    with (
        SamplePage() as page,
        Prometheus(folder, {"gantry": [page.address]}, rule_file(GROUPS)) as running,
    ):
        rate = "count_over_time(gantry_event_loop_lag_seconds[20s]) > 6"
        running.wait_for(rate, SETTLE_SECONDS)
        yield running


def test_every_query_finds_series(prometheus: Prometheus) -> None:
    empty = [str(query) for query in all_queries() if not prometheus.query(query.expression)]
    assert empty == []


def test_legends_name_labels_that_the_series_have(prometheus: Prometheus) -> None:
    wrong = [
        f"{query}: {dict(series.labels)}"
        for query in all_queries()
        for series in prometheus.query(query.expression)
        if not query.legend_labels <= series.labels.keys()
    ]
    assert wrong == []


def test_rules_are_evaluated_without_error(prometheus: Prometheus) -> None:
    names = {alert.name for group in GROUPS for alert in group.alerts}
    wait_until(
        lambda: {rule["name"] for rule in prometheus.rules() if rule["health"] == "ok"} == names,
        "every rule is evaluated",
        SETTLE_SECONDS,
    )


def test_annotations_of_alerts_are_filled_in(prometheus: Prometheus) -> None:
    """The values of the sample page make many alerts pending or firing."""
    alerts = prometheus.alerts()
    assert len({alert["labels"]["alertname"] for alert in alerts}) > 10
    texts = [alert["annotations"]["summary"] for alert in alerts]
    assert [text for text in texts if "<no value>" in text or "error" in text.lower()] == []
