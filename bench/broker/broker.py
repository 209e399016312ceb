"""Lists the measurements of whole brokers: sends, reads, starts, memory, and many clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.broker.broker_crowd import measure_crowd
from bench.broker.broker_floor import measure_floor
from bench.broker.broker_paces import Pace
from bench.broker.broker_reads import measure_reads
from bench.broker.broker_sends import measure_flush, measure_sends, measure_shared_sends
from bench.broker.broker_starts import measure_starts
from bench.report import Row

PARTS: Mapping[str, Callable[[Pace], list[Row]]] = {
    "broker-send": measure_sends,
    "broker-floor": measure_floor,
    "broker-send-shared": measure_shared_sends,
    "broker-flush": measure_flush,
    "broker-read": measure_reads,
    "broker-start": measure_starts,
    "load": measure_crowd,
}

# Facts that differ from the rest of the run.
FACTS: Mapping[str, Mapping[str, str]] = {
    "broker-send-shared": {"servers_and_load": "on all cores, together"}
}

# The parts that the name `broker` selects; the crowd has to be named itself.
TOGETHER = tuple(part for part in PARTS if part.startswith("broker-"))
