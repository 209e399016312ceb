"""Sets and finds conditions in the status of a resource.

`lastTransitionTime` moves only when the status of a condition changes, and messages have no times
in them, so that a status that says the same stays the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, final

from gantrymq.base.errors import LocalError
from gantrymq.operator.resources.fields import reported
from gantrymq.operator.resources.reasons.conditions import ConditionType, Kind, Reason, find_row

MESSAGE_CHARACTERS_MAX: Final = 1024
"""The most characters of a message. There may be 10 000 topics with two conditions each."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a resource."""

    type: str = reported("What the condition is about, such as Ready.", "")
    status: str = reported("True, False or Unknown.", "")
    reason: str = reported("Why, in one word; docs/operations/conditions.md explains each.", "")
    message: str = reported("Why, in a sentence, and what to do about it.", "")
    last_transition_time: str = reported("When the status changed last.", "")
    observed_generation: int = reported("The metadata.generation that the condition is about.", 0)


def read_conditions(resource: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return the conditions of a resource. A malformed one is dropped, and written again later."""
    listed = (resource.get("status") or {}).get("conditions") or ()
    return tuple(
        Condition(
            type=each["type"],
            status=each.get("status", ""),
            reason=each.get("reason", ""),
            message=each.get("message", ""),
            last_transition_time=each.get("lastTransitionTime", ""),
            observed_generation=each.get("observedGeneration", 0),
        )
        for each in listed
        if isinstance(each, Mapping) and "type" in each
    )


def find_condition(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """Return the condition of a type."""
    return next((each for each in conditions if each.type == type_), None)


def set_condition(
    conditions: Iterable[Condition],
    kind: Kind,
    type_: ConditionType,
    reason: Reason,
    message: str,
    *,
    now: str,
    generation: int,
) -> tuple[Condition, ...]:
    """The conditions after one of them is set; its status is the one declared for the reason.

    `now` is a time as the API server writes it, `2026-01-31T12:00:00Z`.
    """
    if _TIME.search(message):
        raise LocalError(f"condition {type_}: a message must not have a time in it: {message!r}")
    row = find_row(kind, type_, reason)
    wanted = Condition(
        type_.value, row.status.value, reason.value, shortened(message), now, generation
    )
    result = list(conditions)
    for index, each in enumerate(result):
        if each.type == wanted.type:
            if each.status == wanted.status and each.last_transition_time:
                wanted = replace(wanted, last_transition_time=each.last_transition_time)
            result[index] = wanted
            return tuple(result)
    return (*result, wanted)


def shortened(message: str) -> str:
    """Cut a message to the most characters of a condition or an event."""
    if len(message) <= MESSAGE_CHARACTERS_MAX:
        return message
    return f"{message[: MESSAGE_CHARACTERS_MAX - 4]} ..."
