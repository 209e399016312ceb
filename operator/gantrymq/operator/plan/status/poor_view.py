"""Makes the status of a cluster that is invalid, not read completely, or being deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.operator.plan.actions import Json, Plan, Wait
from gantrymq.operator.plan.objects.fields import list_at, map_at, value_at
from gantrymq.operator.plan.status.cluster_conditions import time_text
from gantrymq.operator.plan.status.notes import note
from gantrymq.operator.resources.cluster.cluster_status import ClusterPhase
from gantrymq.operator.resources.encoding import to_json
from gantrymq.operator.resources.reasons.condition_list import read_conditions, set_condition
from gantrymq.operator.resources.reasons.conditions import ConditionType, Kind, Reason

_OF_INVALID: Final = (
    ConditionType.READY,
    ConditionType.PROGRESSING,
    ConditionType.CONFIGURATION_APPLIED,
)
_OF_UNREAD: Final = (
    ConditionType.READY,
    ConditionType.AVAILABLE,
    ConditionType.IN_SYNC,
    ConditionType.PROGRESSING,
    ConditionType.DEGRADED,
    ConditionType.SPREAD,
    ConditionType.CONFIGURATION_APPLIED,
    ConditionType.QUIESCED,
)


def plan_of_invalid(resource: Json, message: str, now: float) -> Plan:
    """Return a plan without actions, because the spec has to be corrected first."""
    has_groups = bool(list_at(resource, "status", "groups"))
    types = _OF_INVALID if has_groups else (*_OF_INVALID, ConditionType.AVAILABLE)
    status = _status(resource, types, Reason.INVALID_SPEC, message, now)
    if not has_groups:
        status["phase"] = ClusterPhase.PENDING.value
    return Plan(events=(note(Reason.INVALID_SPEC, message),), status=status)


def status_of_unread(resource: Json, now: float) -> Json:
    """Keep the status before, if there is one: an incomplete read says nothing new."""
    before = dict(map_at(resource, "status"))
    if before.get("conditions"):
        return before
    message = "the operator could not read everything that belongs to the cluster"
    status = _status(resource, _OF_UNREAD, Reason.OBSERVATION_INCOMPLETE, message, now)
    return {"phase": ClusterPhase.PENDING.value, **status}


def status_of_deletion(resource: Json, waits: Sequence[Wait], now: float) -> Json:
    """Keep the status before, with conditions that say what the deletion waits for."""
    message = "; ".join(f"{each.what}: {each.why}" for each in waits)
    message = message or "its objects are being deleted"
    types = (ConditionType.READY, ConditionType.PROGRESSING)
    status = _status(resource, types, Reason.DELETING, message, now)
    shown = [{"what": each.what, "why": each.why} for each in waits]
    return {"phase": ClusterPhase.PENDING.value, **status, "waits": shown}


def _status(
    resource: Json, types: Sequence[ConditionType], reason: Reason, message: str, now: float
) -> Json:
    generation = value_at(resource, "metadata", "generation")
    generation = generation if isinstance(generation, int) else 0
    conditions = read_conditions(resource)
    for type_ in types:
        conditions = set_condition(
            conditions,
            Kind.BROKER_CLUSTER,
            type_,
            reason,
            message,
            now=time_text(now),
            generation=generation,
        )
    before = map_at(resource, "status")
    listed = [to_json(each) for each in conditions]
    return {**before, "observedGeneration": generation, "conditions": listed}
