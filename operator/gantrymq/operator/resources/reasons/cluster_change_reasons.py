"""Explains what the operator does to a BrokerCluster: Progressing to Quiesced."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.resources.reasons.reasons import ConditionType, Kind, Reason, Row, Status


def _row(type_: ConditionType, status: Status, reason: Reason, meaning: str, action: str) -> Row:
    return Row(Kind.BROKER_CLUSTER, type_, reason, status, meaning, action)


_TRUE, _FALSE, _UNKNOWN = Status.TRUE, Status.FALSE, Status.UNKNOWN

_PROGRESSING: Final = (
    _row(
        ConditionType.PROGRESSING,
        _TRUE,
        Reason.CREATING,
        "Objects of a new cluster are being created.",
        "",
    ),
    _row(
        ConditionType.PROGRESSING,
        _TRUE,
        Reason.SCALING_OUT,
        "A group or a name server is being added.",
        "",
    ),
    _row(
        ConditionType.PROGRESSING,
        _TRUE,
        Reason.ROLLING_OUT,
        "Members are being restarted one after another, followers first, because their pods are to"
        " be different: another image, other resources or settings.",
        "",
    ),
    _row(
        ConditionType.PROGRESSING,
        _TRUE,
        Reason.SWITCHING_OVER,
        "A master is handing its group over to another member.",
        "",
    ),
    _row(
        ConditionType.PROGRESSING,
        _TRUE,
        Reason.DELETING,
        "The BrokerCluster is being deleted with its volumes.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.PROGRESSING,
        _FALSE,
        Reason.WAITING,
        "Something is wanted, but a step is not safe or not possible now. `status.waits` lists what"
        " waits, and why.",
        "Remove the cause that the message names. The operator goes on by itself.",
    ),
    _row(
        ConditionType.PROGRESSING,
        _FALSE,
        Reason.PAUSED_BY_SPEC,
        "spec.paused is true: nothing is changed.",
        "Set spec.paused to false.",
    ),
    _row(
        ConditionType.PROGRESSING,
        _FALSE,
        Reason.IDLE,
        "Everything is as it is wanted.",
        "",
    ),
    _row(
        ConditionType.PROGRESSING,
        _FALSE,
        Reason.INVALID_SPEC,
        "The spec cannot be used, so nothing is changed.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.PROGRESSING,
        _UNKNOWN,
        Reason.OBSERVATION_INCOMPLETE,
        "The operator could not read everything that belongs to the cluster.",
        "As for Ready with the same reason.",
    ),
)


_SPREAD: Final = (
    _row(
        ConditionType.SPREAD,
        _TRUE,
        Reason.WELL_SPREAD,
        "Members of a group are on different nodes, and masters are spread over the nodes as evenly"
        " as the groups allow.",
        "",
    ),
    _row(
        ConditionType.SPREAD,
        _FALSE,
        Reason.MASTERS_CROWDED,
        "One node has more masters than need be. The operator moves one master at a time once all"
        " groups are in sync, unless spec.preferredMasters asks for this placement.",
        "Wait, or change spec.preferredMasters.",
    ),
    _row(
        ConditionType.SPREAD,
        _FALSE,
        Reason.ZONES_SHARED,
        "Members of a group share a zone, though spec.scheduling.zones is Prefer and there are"
        " other zones.",
        "Add nodes in other zones. A member with a local volume moves only when its pod and volume"
        " claim are deleted, one group after another, while the rest is in sync.",
    ),
    _row(
        ConditionType.SPREAD,
        _FALSE,
        Reason.POD_UNSCHEDULABLE,
        "A member has no node.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.SPREAD,
        _UNKNOWN,
        Reason.CREATING,
        "Not all members have a node yet.",
        "",
    ),
    _row(
        ConditionType.SPREAD,
        _UNKNOWN,
        Reason.OBSERVATION_INCOMPLETE,
        "Pods or nodes could not be read.",
        "As for Ready with the same reason.",
    ),
)


_CONFIGURATION: Final = (
    _row(
        ConditionType.CONFIGURATION_APPLIED,
        _TRUE,
        Reason.APPLIED,
        "All pods run with the configuration of the spec.",
        "",
    ),
    _row(
        ConditionType.CONFIGURATION_APPLIED,
        _FALSE,
        Reason.ROLLING_OUT,
        "Some members still run with the earlier configuration and will be restarted.",
        "Wait.",
    ),
    _row(
        ConditionType.CONFIGURATION_APPLIED,
        _FALSE,
        Reason.CHANGE_NOT_SUPPORTED,
        "The spec asks for a change that this version does not make: another membersPerGroup, fewer"
        " groups, or a larger storage.size. The cluster stays as it is; everything else in the spec"
        " is applied.",
        "Set the field back to the value that the message names. A larger storage.size cannot be"
        " set back, and has no effect: enlarge the volume claims by hand where their StorageClass"
        " allows it.",
    ),
    _row(
        ConditionType.CONFIGURATION_APPLIED,
        _FALSE,
        Reason.INVALID_SPEC,
        "The spec cannot be used.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.CONFIGURATION_APPLIED,
        _FALSE,
        Reason.CREATING,
        "Not all pods exist yet.",
        "",
    ),
    _row(
        ConditionType.CONFIGURATION_APPLIED,
        _FALSE,
        Reason.PAUSED_BY_SPEC,
        "The spec was changed, and spec.paused is true: the change is not made.",
        "Set spec.paused to false.",
    ),
    _row(
        ConditionType.CONFIGURATION_APPLIED,
        _UNKNOWN,
        Reason.OBSERVATION_INCOMPLETE,
        "The operator could not read everything that belongs to the cluster.",
        "As for Ready with the same reason.",
    ),
)


_PAUSED_AND_QUIESCED: Final = (
    _row(
        ConditionType.PAUSED,
        _TRUE,
        Reason.PAUSED_BY_SPEC,
        "spec.paused is true. The operator changes neither pods nor topics of this cluster;"
        " failover goes on.",
        "Set spec.paused to false: `kubectl patch bc <name> --type merge -p"
        ' \'{"spec":{"paused":false}}\'`.',
    ),
    _row(
        ConditionType.PAUSED,
        _FALSE,
        Reason.NOT_PAUSED,
        "The operator keeps the cluster as the spec says.",
        "",
    ),
    _row(
        ConditionType.QUIESCED,
        _TRUE,
        Reason.NOTHING_TO_DO,
        "For this generation of the spec there is nothing left to do: scripts may wait for this"
        " condition.",
        "",
    ),
    _row(
        ConditionType.QUIESCED,
        _FALSE,
        Reason.ACTIONS_PENDING,
        "The operator is working on this generation of the spec.",
        "",
    ),
    _row(
        ConditionType.QUIESCED,
        _FALSE,
        Reason.WAITING,
        "A change is pending but cannot be made now. `status.waits` says why.",
        "As for Progressing with the same reason.",
    ),
    _row(
        ConditionType.QUIESCED,
        _UNKNOWN,
        Reason.OBSERVATION_INCOMPLETE,
        "The operator could not read everything that belongs to the cluster.",
        "As for Ready with the same reason.",
    ),
)


_SECURED: Final = (
    _row(
        ConditionType.SECURED,
        _TRUE,
        Reason.PROTECTED,
        "Every port for clients needs an account and TLS, metrics need a token, and members prove"
        " themselves to each other.",
        "",
    ),
    _row(
        ConditionType.SECURED,
        _FALSE,
        Reason.PORTS_OPEN,
        "Any client that reaches a port of the cluster may use it. The message says of each port"
        " what it lacks and what a client may do, as the servers' logs do at their start.",
        "Create clusters with `spec.security.profile: secure`: docs/how-to/kubernetes-security.md."
        " Where clients that cannot sign have to stay, let a NetworkPolicy admit them alone.",
    ),
)


CHANGE_ROWS: Final = (
    *_PROGRESSING,
    *_SPREAD,
    *_CONFIGURATION,
    *_PAUSED_AND_QUIESCED,
    *_SECURED,
)
