"""Explains whether a BrokerCluster works: Ready, Available, InSync and Degraded."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.resources.reasons.reasons import ConditionType, Kind, Reason, Row, Status


def _row(type_: ConditionType, status: Status, reason: Reason, meaning: str, action: str) -> Row:
    return Row(Kind.BROKER_CLUSTER, type_, reason, status, meaning, action)


_TRUE, _FALSE, _UNKNOWN = Status.TRUE, Status.FALSE, Status.UNKNOWN

_READY: Final = (
    _row(
        ConditionType.READY,
        _TRUE,
        Reason.ALL_READY,
        "All name servers and brokers run, every group has a master that accepts messages, and all"
        " followers are in sync.",
        "",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.INVALID_SPEC,
        "The spec breaks a rule that the API server did not check, because the definition of"
        " BrokerCluster in the Kubernetes cluster is older than the operator. The operator changes"
        " nothing until the spec is corrected; failover goes on.",
        "Correct the fields that the message names with `kubectl edit bc <name>`, and install the"
        " definitions of the operator's version: `kubectl apply --server-side -f crds/`.",
    ),
    _row(
        ConditionType.READY,
        _UNKNOWN,
        Reason.OBSERVATION_INCOMPLETE,
        "The operator could not read everything that belongs to the cluster, and does not guess.",
        "Usually passes within seconds after the operator has started. If it stays, look for"
        " refused requests in the operator's log:"
        " `kubectl logs -n gantry-system deploy/gantry-operator`. A missing permission of its role"
        " is named there.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.CREATING,
        "Pods and volumes of a new cluster, or of a new group, are being created and the group has"
        " not formed yet.",
        "Wait. `kubectl describe bc <name>` lists under `waits` what is missing.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.NAME_SERVERS_NOT_READY,
        "No name server is ready, so clients that start now find no broker. Clients that are"
        " connected go on.",
        "See why the pods are not ready: `kubectl describe pods -l"
        " app.kubernetes.io/instance=<name>,app.kubernetes.io/component=nameserver`.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.MEMBERS_NOT_READY,
        "Some pods are not ready, though every group has a master. The message names them.",
        "Wait if the pods have just started: a broker is ready once it is in sync. Otherwise see"
        " `kubectl describe pod <pod>` and `kubectl logs <pod>`.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.NO_MASTER,
        "A group has no master, so no message can be sent to its queues. Other groups go on.",
        "A failover takes seconds. If it stays: at least one member of the in-sync set must be"
        " able to run. `kubectl get lease <cluster>-<group> -o yaml` shows the set; bring the node"
        " or the volume of one of these members back. Only when all of them are lost for ever,"
        " allow an unclean election, which loses messages: `kubectl annotate lease"
        " <cluster>-<group> gantrymq.dev/allow-unclean=true`. Remove the annotation afterwards.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.POD_UNSCHEDULABLE,
        "Kubernetes finds no node for a pod. Members of a group never share a node, and with zones"
        " Require not even a zone. The message is the scheduler's.",
        "Add nodes, free resources, or relax spec.scheduling and spec.resources. A cluster needs"
        " at least membersPerGroup nodes that match nodeSelector and tolerations.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.STORAGE_CLASS_MISSING,
        "spec.storage.storageClassName names a StorageClass that does not exist, or it is absent"
        " and the Kubernetes cluster has no default class.",
        "Create the StorageClass: the pods go on by themselves. Or delete the BrokerCluster and"
        " create it with a class that `kubectl get storageclass` lists.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.VOLUME_PENDING,
        "A volume claim is not bound. The message is the provisioner's.",
        "`kubectl describe pvc <claim>`. Typical causes: no room on the nodes, a quota, or a local"
        " volume on a node that is gone.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.IMAGE_PULL_FAILED,
        "A node could not pull an image. The message has the registry's answer.",
        "Correct spec.image, or give spec.image.pullSecrets. The pods are replaced by themselves.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.POD_FAILING,
        "A container ends again and again. The message has its last exit.",
        "`kubectl logs <pod> --previous`. A setting that the broker refuses is named there: correct"
        " spec.config. Exit 137 with reason OOMKilled: raise spec.resources.broker.limits.memory.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.POD_REFUSED,
        "The API server refuses pods of the cluster, for instance because of a quota or of an"
        " admission policy. The message is its answer.",
        "Raise the quota (`kubectl get resourcequota`) or change the policy. The pods comply with"
        " the Pod Security level `restricted`.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.SECRET_REPLACED,
        "The replication Secret was deleted while members ran, and the operator made another one."
        " Members that run go on, and read the new one when the kubelet brings it to their pods,"
        " within a minute or two. Until all have, a member that restarts cannot prove itself to the"
        " others; a group that then lacks members in sync acknowledges no messages. The operator"
        " restarts no member of the group meanwhile.",
        "Wait two minutes. If the reason stays, because the brokers' image cannot tell which secret"
        " they have or a kubelet does not answer, restart the members of each group that the"
        " message names, all at the same time, with the command in the message. The group elects a"
        " master again within seconds, and no message is lost.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.DELETING,
        "The BrokerCluster is being deleted with its volumes, because storage.onClusterDeletion is"
        " Delete. The message and `status.waits` say what the deletion waits for.",
        "Wait. The operator waits for pods for a bounded time only. To keep the volumes that are"
        " left, set storage.onClusterDeletion to Retain.",
    ),
    _row(
        ConditionType.READY,
        _FALSE,
        Reason.API_REFUSED,
        "The API server refuses an object that the operator wants to write. The message is its"
        " answer.",
        "If a permission is missing, install the operator's role of the same version. If an"
        " admission policy refuses the object, change the policy.",
    ),
)


_AVAILABLE: Final = (
    _row(
        ConditionType.AVAILABLE,
        _TRUE,
        Reason.ALL_GROUPS_HAVE_MASTERS,
        "Every group has a master that accepts messages.",
        "",
    ),
    _row(
        ConditionType.AVAILABLE,
        _FALSE,
        Reason.NO_MASTER,
        "At least one group has no master, or fewer members in sync than minInSyncReplicas asks"
        " for. Producers use the other groups meanwhile.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.AVAILABLE,
        _FALSE,
        Reason.CREATING,
        "No group has formed yet.",
        "Wait. `kubectl describe bc <name>` lists under `waits` what is missing.",
    ),
    _row(
        ConditionType.AVAILABLE,
        _FALSE,
        Reason.INVALID_SPEC,
        "The spec cannot be used, and no group exists.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.AVAILABLE,
        _UNKNOWN,
        Reason.OBSERVATION_INCOMPLETE,
        "The Lease of a group could not be read.",
        "As for Ready with the same reason.",
    ),
)


_IN_SYNC: Final = (
    _row(
        ConditionType.IN_SYNC,
        _TRUE,
        Reason.ALL_IN_SYNC,
        "Every member of every group has all acknowledged messages.",
        "",
    ),
    _row(
        ConditionType.IN_SYNC,
        _FALSE,
        Reason.FOLLOWER_MISSING,
        "A follower does not run or is not connected to its master. Messages of its group have"
        " fewer copies than wanted.",
        "Bring the pod back: `kubectl describe pod <pod>`. It catches up by itself.",
    ),
    _row(
        ConditionType.IN_SYNC,
        _FALSE,
        Reason.FOLLOWER_BEHIND,
        "A follower runs but has not caught up with its master; the column LAG shows how far.",
        "Wait after a restart. If the lag does not shrink, the follower's disk or network is slower"
        " than the stream of messages: compare its node with the master's.",
    ),
    _row(
        ConditionType.IN_SYNC,
        _FALSE,
        Reason.CREATING,
        "No group has formed yet.",
        "",
    ),
    _row(
        ConditionType.IN_SYNC,
        _UNKNOWN,
        Reason.OBSERVATION_INCOMPLETE,
        "The Lease of a group could not be read.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.IN_SYNC,
        _UNKNOWN,
        Reason.NO_MASTER,
        "A group has no master, and only a master knows which followers are in sync.",
        "As for Ready with the same reason.",
    ),
)


_DEGRADED: Final = (
    _row(ConditionType.DEGRADED, _FALSE, Reason.HEALTHY, "Nothing is missing.", ""),
    _row(
        ConditionType.DEGRADED,
        _FALSE,
        Reason.CREATING,
        "The cluster is new, and what is missing is on its way.",
        "",
    ),
    _row(
        ConditionType.DEGRADED,
        _TRUE,
        Reason.NO_MASTER,
        "A group accepts no messages.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.DEGRADED,
        _TRUE,
        Reason.FOLLOWER_MISSING,
        "A group works with fewer copies than wanted. One more failure may stop it.",
        "As for InSync with the same reason.",
    ),
    _row(
        ConditionType.DEGRADED,
        _TRUE,
        Reason.FOLLOWER_BEHIND,
        "A group works with fewer copies than wanted until a follower has caught up.",
        "As for InSync with the same reason.",
    ),
    _row(
        ConditionType.DEGRADED,
        _TRUE,
        Reason.NAME_SERVERS_NOT_READY,
        "At least one name server is not ready. Clients use the others.",
        "As for Ready with the same reason.",
    ),
    _row(
        ConditionType.DEGRADED,
        _UNKNOWN,
        Reason.OBSERVATION_INCOMPLETE,
        "The operator could not read everything that belongs to the cluster.",
        "As for Ready with the same reason.",
    ),
)


HEALTH_ROWS: Final = (*_READY, *_AVAILABLE, *_IN_SYNC, *_DEGRADED)
