"""Explains the conditions and events of a BrokerCluster: what each reason means, what to do."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.resources.reasons.cluster_change_reasons import CHANGE_ROWS
from gantrymq.operator.resources.reasons.cluster_health_reasons import HEALTH_ROWS
from gantrymq.operator.resources.reasons.reasons import EventRow, EventType, Kind, Reason


def _event(type_: EventType, reason: Reason, meaning: str, action: str = "") -> EventRow:
    return EventRow(Kind.BROKER_CLUSTER, reason, type_, meaning, action)


CLUSTER_ROWS: Final = (*HEALTH_ROWS, *CHANGE_ROWS)

CLUSTER_EVENTS: Final = (
    _event(EventType.NORMAL, Reason.NAME_SERVERS_CREATED, "The name servers were created."),
    _event(EventType.NORMAL, Reason.GROUP_CREATED, "The objects of a group were created."),
    _event(
        EventType.NORMAL,
        Reason.OBJECT_REPAIRED,
        "An object of the cluster was changed or deleted by hand, and is as it should be again.",
    ),
    _event(
        EventType.NORMAL,
        Reason.ROLLING_OUT,
        "Pods of a group are being restarted; the message says which, and why.",
    ),
    _event(
        EventType.NORMAL,
        Reason.POD_REPLACED,
        "A pod was deleted so that its successor has the current configuration.",
    ),
    _event(EventType.NORMAL, Reason.MASTER_CHANGED, "A group has another master."),
    _event(
        EventType.NORMAL,
        Reason.SWITCHOVER_REQUESTED,
        "The operator asked a group for another master: to spread the masters, because of"
        " spec.preferredMasters, or because the master has to restart.",
    ),
    _event(
        EventType.NORMAL,
        Reason.SECRET_ROTATED,
        "A step of a change of the replication secret began or the last one is done. The annotation"
        " `gantrymq.dev/rotate-secret` asked for it, which `kubectl gantry rotate-secret` sets.",
    ),
    _event(
        EventType.WARNING,
        Reason.NO_MASTER,
        "A group has no master.",
        "As for the condition Ready with the same reason.",
    ),
    _event(
        EventType.WARNING,
        Reason.LEFT_BEHIND,
        "A BrokerCluster was deleted, and objects of it could not be removed in time. The deletion"
        " went on without them. The message names them.",
        "Look at the finalizers and owners of these objects, and delete them by hand.",
    ),
    _event(
        EventType.WARNING,
        Reason.REQUEST_IGNORED,
        "An annotation by which the Lease of a group asks something of its members cannot be read,"
        " and has no effect.",
        "Correct the annotation that the message names: `kubectl edit lease <cluster>-<group>`.",
    ),
    _event(
        EventType.WARNING,
        Reason.INVALID_SPEC,
        "The spec cannot be used.",
        "As for the condition Ready with the same reason.",
    ),
    _event(
        EventType.WARNING,
        Reason.CHANGE_NOT_SUPPORTED,
        "The spec asks for a change that this version does not make.",
        "As for the condition ConfigurationApplied with the same reason.",
    ),
    _event(
        EventType.WARNING,
        Reason.API_REFUSED,
        "The API server refused an object that the operator wanted to write.",
        "As for the condition Ready with the same reason.",
    ),
    _event(
        EventType.NORMAL,
        Reason.UNMANAGED_TOPICS,
        "Brokers have topics that no Topic resource describes, made by hand or by a producer."
        " `status.unmanagedTopics` names them.",
        "Create a Topic for each that is wanted; with the same queue counts it is taken over"
        " without a change.",
    ),
)
