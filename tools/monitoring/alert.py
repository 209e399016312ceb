"""Describes alerts: the rule by which an alert fires, and its runbook.

The expression's ranges and `held` are durations; `seconds` is the number that the expression
compares a time with, as `<seconds>`. A test divides all three, so that it need not wait as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final

from tools.monitoring.promql import duration, scaled


class Severity(Enum):
    """How soon a person has to react."""

    CRITICAL = "critical"
    """A person has to react at once: clients fail, or acknowledged messages are at risk."""
    WARNING = "warning"
    """A person has to react today: it may become critical, or affects some clients."""
    INFO = "info"
    """A person may react when convenient: the alert explains other symptoms."""


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
        """The expression of the rule, with all durations divided by `divisor`."""
        limit = self.seconds / divisor
        return scaled(self.expression, divisor).replace("<seconds>", f"{limit:g}")

    def rule_held(self, divisor: int = 1) -> str:
        """The time for which the expression must hold, in the form of rule files."""
        return duration(-(-self.held_seconds // divisor))


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Alerts with one subject: a group of the rule file, and a page of runbooks."""

    name: str
    title: str
    about: str
    alerts: tuple[Alert, ...]
