"""Lists the dashboards that the chart installs."""

from __future__ import annotations

from typing import Final

from tools.monitoring.dashboards import (
    broker,
    group,
    operator,
    overview,
    replication,
    spark,
    topic,
)
from tools.monitoring.panel import Dashboard

DASHBOARDS: Final[tuple[Dashboard, ...]] = (
    overview.DASHBOARD,
    broker.DASHBOARD,
    topic.DASHBOARD,
    group.DASHBOARD,
    replication.DASHBOARD,
    operator.DASHBOARD,
    spark.DASHBOARD,
)
