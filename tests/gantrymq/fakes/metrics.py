"""Reads pages of metrics: values by name and labels, without the labels that all metrics have."""

from __future__ import annotations

from collections.abc import Iterable

from gantrymq.broker.metrics import page
from gantrymq.broker.metrics.base import base_of
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.metrics.samples import Samples
from gantrymq.metrics.text import PageWriter

SERIES_MAX = 1_000_000


def values_of(samples: Iterable[Samples], base: str = "") -> dict[str, float]:
    """`name{label="value"}` -> value."""
    text = "".join(PageWriter(SERIES_MAX).pieces(samples))
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return {
        name.replace(f"{base},", "").replace(f"{{{base}}}", "") if base else name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines)
    }


def page_of(broker: OpenedBroker) -> dict[str, float]:
    """The metrics of a broker, after it has read lags and times from its store."""
    ended: list[bool] = []
    broker.services.store_values.refresh(lambda: ended.append(True))
    broker.settle()
    assert ended, "the store was read"
    return values_of(page.samples(broker.broker), base_of(broker.state))
