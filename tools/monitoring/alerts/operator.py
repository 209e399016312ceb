"""Defines alerts about the Kubernetes operator. Brokers run and fail over without it."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Alert, Group, Severity

_LOGS: Final = "`kubectl logs -n gantry-system -l app.kubernetes.io/component=operator --tail=-1`."

WITHOUT_LEADER: Final = Alert(
    "GantryOperatorWithoutLeader",
    Severity.WARNING,
    "max by (namespace, job) (gantry_operator_leader) == 0",
    60,
    "No operator of {{ $labels.job }} leads",
    "Operators run, but none of them leads, so no change to a resource is carried out.",
    (
        "The operators cannot reach the Kubernetes API, or may not write their Lease.",
        "A former leader's Lease has not expired yet: 15 seconds.",
    ),
    (_LOGS, "`kubectl get lease -n gantry-system`."),
    (
        "Give the operator its rights back: `helm upgrade` with the chart's own values.",
        "Brokers and clients are not affected meanwhile, and masters fail over.",
    ),
)

LATE: Final = Alert(
    "GantryOperatorLate",
    Severity.WARNING,
    "max by (namespace, job) (gantry_operator_queue_lateness_seconds) > <seconds>",
    120,
    "The operator is {{ $value | humanizeDuration }} late",
    "An object has waited for the operator for more than 2 minutes.",
    (
        "The Kubernetes API is slow, or limits the operator.",
        "Very many topics changed at once.",
        "A broker does not answer, and each attempt waits for it.",
    ),
    (
        "Dashboard *Gantry: operator*: *Work queue*, *API requests*, *Reconcile time*.",
        _LOGS,
    ),
    ("Wait, if the queue becomes shorter.", "Fix the causes that the log names."),
    seconds=120,
)

FAILING: Final = Alert(
    "GantryOperatorFailing",
    Severity.WARNING,
    "sum by (namespace, job, work, outcome)"
    ' (rate(gantry_operator_reconciles_total{outcome=~"refused|timeout|bug"}[10m])) > 0',
    900,
    "The operator fails at {{ $labels.work }}: {{ $labels.outcome }}",
    "One kind of the operator's work fails again and again.",
    (
        "*refused*: the API or a broker refuses what the operator asks for.",
        "*timeout*: the API or a broker does not answer.",
        "*bug*: a defect of the operator.",
    ),
    (_LOGS, "`kubectl describe bc CLUSTER`: conditions and events."),
    (
        "Fix what the conditions name: [conditions](../conditions.md) has each reason.",
        "Report a defect, with the log's traceback.",
    ),
)

FORBIDDEN: Final = Alert(
    "GantryOperatorForbidden",
    Severity.WARNING,
    "max by (namespace, job, kind) (gantry_operator_reflector_refused) == 1",
    300,
    "The operator may not list {{ $labels.kind }}",
    "The Kubernetes API does not let the operator list a kind of objects.",
    (
        "The operator's Role or ClusterRole was changed, or is of an older chart.",
        "The resource definitions are not installed.",
    ),
    (
        "`kubectl auth can-i list KIND --as=system:serviceaccount:gantry-system:gantry-operator`.",
        _LOGS,
    ),
    ("`helm upgrade` with `rbac.create` and `crds.install`.",),
)

GROUP: Final = Group(
    "operator",
    "the operator",
    "The operator does not lead, is late, or fails. Brokers work on without it.",
    (WITHOUT_LEADER, LATE, FAILING, FORBIDDEN),
)
