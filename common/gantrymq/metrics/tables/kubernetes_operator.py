"""Defines the metrics of the operator. A standby shows only whether it leads, and API requests."""

from __future__ import annotations

from typing import Final

from gantrymq.metrics.family import Table

TABLE: Final = Table("operator", "Operator")

LEADER: Final = TABLE.gauge(
    "gantry_operator_leader",
    "Whether this process leads",
    panel="Operator: Leader",
    alert="GantryOperatorWithoutLeader",
)
API_REQUESTS: Final = TABLE.counter(
    "gantry_operator_api_requests_total",
    "Requests to the Kubernetes API; code 0: no response",
    ("verb", "code"),
    panel="Operator: API requests",
)
API_WRITES: Final = TABLE.counter(
    "gantry_operator_api_writes_total",
    "Requests to the Kubernetes API that may have changed an object",
    panel="Operator: API writes",
)
QUEUE_KEYS: Final = TABLE.gauge(
    "gantry_operator_queue_keys",
    "Keys in the work queue, by lane and state",
    ("lane", "state"),
    panel="Operator: Work queue",
)
QUEUE_LATENESS: Final = TABLE.gauge(
    "gantry_operator_queue_lateness_seconds",
    "How long the oldest due key has waited",
    unit="seconds",
    panel="Operator: Work queue lateness",
    alert="GantryOperatorLate",
)
RECONCILES: Final = TABLE.counter(
    "gantry_operator_reconciles_total",
    "Keys that were reconciled, by kind of work and outcome",
    ("work", "outcome"),
    panel="Operator: Reconciles",
    alert="GantryOperatorFailing",
)
RECONCILE_SECONDS: Final = TABLE.counter(
    "gantry_operator_reconcile_seconds_total",
    "Time spent on keys, by kind of work and outcome",
    ("work", "outcome"),
    unit="seconds",
    panel="Operator: Reconcile time",
)
REFLECTOR_SILENCE: Final = TABLE.gauge(
    "gantry_operator_reflector_silence_seconds",
    "Time since the Kubernetes API last sent anything about a kind",
    ("kind",),
    unit="seconds",
    panel="Operator: Watches",
)
REFLECTOR_REFUSED: Final = TABLE.gauge(
    "gantry_operator_reflector_refused",
    "Whether the Kubernetes API forbids the operator to list a kind",
    ("kind",),
    panel="Operator: Watches",
    alert="GantryOperatorForbidden",
)
CACHED_OBJECTS: Final = TABLE.gauge(
    "gantry_operator_cached_objects",
    "Objects kept in memory, by kind",
    ("kind",),
    panel="Operator: Cached objects",
)
DROPPED_EVENTS: Final = TABLE.counter(
    "gantry_operator_dropped_events_total", "Kubernetes Events that were not published"
)
