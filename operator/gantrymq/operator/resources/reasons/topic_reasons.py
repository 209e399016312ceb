"""Explains the conditions of a Topic: what each reason means, what to do.

The operator publishes no Events on Topics: conditions and `status.drift` say what happened.
"""

from __future__ import annotations

from typing import Final

from gantrymq.operator.resources.reasons.reasons import (
    ConditionType,
    Kind,
    Reason,
    Row,
    Status,
)


def _row(type_: ConditionType, status: Status, reason: Reason, meaning: str, action: str) -> Row:
    return Row(Kind.TOPIC, type_, reason, status, meaning, action)


_TRUE, _FALSE = Status.TRUE, Status.FALSE

_READY: Final = (
    _row(
        ConditionType.READY,
        _TRUE,
        Reason.APPLIED,
        "Every group has the topic as the spec says.",
        "",
    ),
    _row(
        ConditionType.READY,
        _TRUE,
        Reason.SHRINKING,
        "The topic has the queues for producers that the spec says. Surplus queues for consumers"
        " stay until they are empty; the condition Drained says what is missing.",
        "",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.INVALID_SPEC,
        "The spec breaks a rule that the API server did not check, because the definition of Topic"
        " in the Kubernetes cluster is older than the operator. The topic stays as it is.",
        "Correct the fields that the message names with `kubectl edit mqt <name>`, and install the"
        " definitions of the operator's version: `kubectl apply --server-side -f crds/`.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.CLUSTER_NOT_FOUND,
        "spec.cluster names a BrokerCluster that does not exist in the namespace of the Topic.",
        "Create the BrokerCluster: the topic is made by itself. spec.cluster cannot be changed, so"
        " a wrong name means deleting the Topic and creating it again.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.CLUSTER_TERMINATING,
        "The BrokerCluster is being deleted.",
        "Delete the Topic as well. It never hangs on a cluster that is gone.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.CLUSTER_PAUSED,
        "The topic is not as the spec says, and spec.paused of the BrokerCluster is true.",
        "Set spec.paused of the BrokerCluster to false.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.CLUSTER_NOT_READY,
        "The BrokerCluster has no broker group yet.",
        "Wait until `kubectl get bc` shows the cluster as ready; the topic is made by itself.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.MASTER_AWAY,
        "A group has no master that answers, so the topic may not be there as the spec says. On"
        " the other groups it is.",
        "Wait: a failover takes seconds. Otherwise see the condition Available of the"
        " BrokerCluster.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.NAME_TAKEN,
        "An older Topic describes the same topic of the same cluster. The message names it.",
        "Delete one of the two. When the older one goes, this one takes the topic over at once.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.DIFFERS,
        "The topic existed before, with another configuration, and was not changed. The message"
        " has the differences.",
        "Set spec.adopt to true to have the topic changed, or describe it in the spec as it is.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.BROKER_REFUSED,
        "A broker refused the topic. The message has its answer.",
        "Change the spec if it is at fault. Otherwise the operator tries again by itself, at"
        " growing intervals.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.DELETING,
        "The Topic is being deleted; the message says what it waits for.",
        "With deletionPolicy DeleteWhenDrained, let the consumer groups read the rest. To stop"
        " waiting, set deletionPolicy to Retain, which keeps the topic, or to Delete.",
    ),
)

_IN_CONFLICT: Final = (
    _row(
        ConditionType.IN_CONFLICT,
        _TRUE,
        Reason.NAME_TAKEN,
        "An older Topic has the topic.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.IN_CONFLICT,
        _TRUE,
        Reason.NAME_CLAIMED,
        "An older Topic describes the same topic, which is not made yet.",
        "As for Ready with the reason NameTaken.",
    ),
)

_DRAINED: Final = (
    _row(
        ConditionType.DRAINED,
        _FALSE,
        Reason.SHRINKING,
        "Read queues that are to go still have messages that a consumer group has not read, or"
        " producers may not know the new queues yet. The message names groups and queues.",
        "Let the consumer groups read on. Delete consumer groups that are not used any more:"
        " `gantry deleteSubGroup`.",
    ),
    _row(
        ConditionType.DRAINED,
        _FALSE,
        Reason.DELETING,
        "With deletionPolicy DeleteWhenDrained: messages are left that a consumer group has not"
        " read, or producers still send.",
        "Stop the producers and let the consumer groups read on, or set deletionPolicy to Delete.",
    ),
)

TOPIC_ROWS: Final = (*_READY, *_IN_CONFLICT, *_DRAINED)
