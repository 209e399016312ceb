"""Describes alerts: when one fires, and what the person who is called does then.

The expression's ranges and `held` are durations; `seconds` is the number that the expression
compares a time with, as `<seconds>`. A test divides all three, so that it need not wait as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final

from tools.monitoring.promql import duration, scaled


class Severity(Enum):
    """How soon a person has to look."""

    CRITICAL = "critical"
    """At once: clients fail, or acknowledged messages are at risk."""
    WARNING = "warning"
    """Today: it becomes critical, or some clients are not served as they should be."""
    INFO = "info"
    """When convenient: it explains other signs."""


@final
@dataclass(frozen=True, slots=True)
class Alert:
    """One rule and its runbook.

    `summary` may name labels as `{{ $labels.topic }}`. `means`, `causes`, `look` and `act` are the
    runbook: what is wrong, why that happens, how to see which cause it is, what to do.
    """

    name: str
    severity: Severity
    expression: str
    held_seconds: int
    summary: str
    means: str
    causes: tuple[str, ...]
    look: tuple[str, ...]
    act: tuple[str, ...]
    seconds: int = 0

    def rule_expression(self, divisor: int = 1) -> str:
        """The expression of the rule, with all durations divided."""
        limit = self.seconds / divisor
        return scaled(self.expression, divisor).replace("<seconds>", f"{limit:g}")

    def rule_held(self, divisor: int = 1) -> str:
        """How long the expression must hold, as a rule file says it."""
        return duration(-(-self.held_seconds // divisor))


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Alerts with one subject: a group of the rule file, and a page of runbooks."""

    name: str
    title: str
    about: str
    alerts: tuple[Alert, ...]
