"""Puts the metrics of a broker's core in the order of its page."""

from __future__ import annotations

from collections.abc import Iterator

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.metrics import clients, lag, overview, quotas, requests, storage, traffic
from gantrymq.broker.metrics.base import base_of
from gantrymq.metrics.samples import Samples


def samples(core: Broker) -> Iterator[Samples]:
    """All metrics of the core. Each one is read when the writer of the page gets to it."""
    state = core.state
    base = base_of(state)
    yield from overview.samples(core, base)
    yield from traffic.samples(core, base)
    yield from requests.samples(core, base)
    yield from quotas.samples(state, base)
    yield from lag.samples(core, base)
    yield from clients.samples(state, base)
    yield from storage.samples(core, base)
