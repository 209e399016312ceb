"""The metrics of the operator. A standby shows those of the API and whether it leads."""

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
    "Requests that may have changed something",
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
    "Keys worked on, by kind of work and outcome",
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
    "Time since the API last said anything of a kind",
    ("kind",),
    unit="seconds",
    panel="Operator: Watches",
)
REFLECTOR_REFUSED: Final = TABLE.gauge(
    "gantry_operator_reflector_refused",
    "Whether the API does not let a kind be listed",
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
