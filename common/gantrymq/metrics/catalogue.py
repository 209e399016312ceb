"""Lists all tables of metrics, in the order of the reference page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gantrymq.metrics.family import Family, Table
from gantrymq.metrics.tables import (
    broker,
    client,
    exporter4,
    kubernetes_operator,
    namesrv,
    process,
    rocketmq5,
    spark,
)

TABLES: Final[tuple[Table, ...]] = (
    rocketmq5.TABLE,
    broker.TABLE,
    namesrv.TABLE,
    process.TABLE,
    kubernetes_operator.TABLE,
    spark.TABLE,
    client.TABLE,
    exporter4.TABLE,
)


def families() -> Iterator[tuple[Table, Family]]:
    """Every metric, with the table that defines it."""
    for table in TABLES:
        for family in table:
            yield table, family
