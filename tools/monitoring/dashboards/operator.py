"""Defines the dashboard of the Kubernetes operator."""

from __future__ import annotations

from typing import Final

from tools.monitoring.panel import (
    INSTANCE,
    NAMESPACE,
    ONE_IS_GOOD,
    ZERO_IS_GOOD,
    Colour,
    Dashboard,
    Row,
    Variable,
    graph,
    limits,
    number,
)

JOB: Final = Variable("job", "Job", "gantry_operator_leader", "job")

_QUESTIONS: Final = Row(
    "Does the operator work?",
    (
        number(
            "Leaders",
            "Operators that lead; it should be 1. Brokers and failovers work without an operator.",
            "sum(gantry_operator_leader{<process>}) or vector(0)",
            steps=ONE_IS_GOOD,
            width=6,
        ),
        number(
            "Lateness",
            "The time for which the oldest due object has waited for the operator.",
            "max(gantry_operator_queue_lateness_seconds{<process>}) or vector(0)",
            unit="s",
            steps=limits(30, 120),
            width=6,
        ),
        number(
            "Failures",
            "Part of the reconciles that failed in the last 10 minutes, conflicts aside.",
            '(sum(rate(gantry_operator_reconciles_total{<process>,outcome=~"refused|timeout|bug"}'
            "[10m])) or vector(0))"
            " / (sum(rate(gantry_operator_reconciles_total{<process>}[10m])) > 0) or vector(0)",
            unit="percentunit",
            steps=((None, Colour.GOOD), (0.01, Colour.WARNING), (0.5, Colour.BAD)),
            width=6,
        ),
        number(
            "Kinds not listed",
            "Kinds of objects that the Kubernetes API forbids the operator to list.",
            "sum(gantry_operator_reflector_refused{<process>}) or vector(0)",
            steps=ZERO_IS_GOOD,
            width=6,
        ),
    ),
)

_OPERATOR: Final = Row(
    "Operator",
    (
        graph(
            "Leader",
            "Which process leads.",
            ("gantry_operator_leader{<process>}", "{{instance}}"),
        ),
        graph(
            "Work queue",
            "Objects that wait or are worked on, by lane.",
            ("gantry_operator_queue_keys{<process>}", "{{lane}} {{state}}"),
        ),
        graph(
            "Work queue lateness",
            "The time for which the oldest due object has waited.",
            ("gantry_operator_queue_lateness_seconds{<process>}", "{{instance}}"),
            unit="s",
        ),
        graph(
            "Reconciles",
            "Objects that were reconciled, by kind of work and outcome.",
            (
                (
                    "sum by (work, outcome) (rate(gantry_operator_reconciles_total{<process>}"
                    "[<window>]))"
                ),
                "{{work}} {{outcome}}",
            ),
            unit="ops",
        ),
        graph(
            "Reconcile time",
            "Mean time of one reconcile.",
            (
                (
                    "sum by (work)"
                    " (rate(gantry_operator_reconcile_seconds_total{<process>}[<window>])) / sum"
                    " by (work) (rate(gantry_operator_reconciles_total{<process>}[<window>]))"
                ),
                "{{work}}",
            ),
            unit="s",
        ),
        graph(
            "API requests",
            "Requests to the Kubernetes API, by verb and answer. Code 0: no answer.",
            (
                (
                    "sum by (verb, code) (rate(gantry_operator_api_requests_total{<process>}"
                    "[<window>]))"
                ),
                "{{verb}} {{code}}",
            ),
            unit="reqps",
        ),
        graph(
            "API writes",
            "Requests that may have changed something. Steady writes while nothing changes are a"
            " defect.",
            ("rate(gantry_operator_api_writes_total{<process>}[<window>])", "{{instance}}"),
            unit="reqps",
        ),
        graph(
            "Watches",
            "Time since the API last sent anything about a kind; 1 where it forbids to list one.",
            ("gantry_operator_reflector_silence_seconds{<process>}", "{{instance}} {{kind}}"),
            ("gantry_operator_reflector_refused{<process>} > 0", "{{kind}} refused"),
            unit="s",
        ),
        graph(
            "Cached objects",
            "Objects that the operator keeps in memory.",
            ("gantry_operator_cached_objects{<process>}", "{{instance}} {{kind}}"),
        ),
    ),
)

DASHBOARD: Final = Dashboard(
    "operator",
    "Gantry: operator",
    "Whether the operator keeps up with changes of resources.",
    (NAMESPACE, JOB, INSTANCE),
    (_QUESTIONS, _OPERATOR),
)
