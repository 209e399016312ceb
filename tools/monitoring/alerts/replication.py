"""Defines alerts about slaves that do not follow, failovers, and the Lease of a group."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Alert, Group, Severity
from tools.monitoring.promql import grown

_SET: Final = "namespace, cluster, node_id"
_STATUS: Final = "`kubectl gantry status CLUSTER` says which member, and why."

REPLICA_LAG: Final = Alert(
    "GantryReplicaLag",
    Severity.WARNING,
    "gantry_broker_slave_behind_bytes > 67108864",
    300,
    "Slave {{ $labels.slave }} of {{ $labels.node_id }} is more than 64 MiB behind",
    "A connected slave lacks more than 64 MiB of its master's log.",
    (
        "The slave started with an empty disk and copies the whole log.",
        "The slave's disk, processor or network cannot keep up with what the master stores.",
    ),
    (
        "`gantry haStatus -b MASTER:10911`: does the slave catch up, and how fast?",
        "Dashboard *Gantry: replication and failover*: *Bytes behind* against *Throughput*.",
    ),
    (
        "If it catches up, wait.",
        "If not, look at the slave's disk and processor; its log names what it waits for.",
    ),
)

REPLICA_OUT_OF_SYNC: Final = Alert(
    "GantryReplicaOutOfSync",
    Severity.WARNING,
    f"count by ({_SET}) (gantry_broker_is_master == 0)"
    f" unless count by ({_SET}) (gantry_broker_is_master == 0)"
    f" <= sum by ({_SET}) (gantry_broker_slave_in_sync)"
    f" or max by ({_SET}) (gantry_broker_in_sync_members)"
    f" < count by ({_SET}) (gantry_broker_is_master)",
    120,
    "{{ $labels.node_id }} has a member that is not in sync",
    "A member does not have all acknowledged messages, so there is one copy less of them.",
    (
        "The member restarts or copies the log anew.",
        "The member cannot reach its master, at port 10912.",
        "The member's disk is slow or full.",
    ),
    (_STATUS, "`/health/ready` of the member says why it is not ready."),
    (
        (
            "Bring the member back. While it is away, do not stop the others: with a single in-sync"
            " member left, the loss of its disk loses messages."
        ),
    ),
)

FAILOVER: Final = Alert(
    "GantryFailover",
    Severity.INFO,
    grown('gantry_broker_role_changes_total{role="master"}', "10m", _SET),
    0,
    "{{ $labels.node_id }} has a new master",
    "A member became master within the last 10 minutes.",
    (
        "A switchover: an administrator asked for it, or the operator restarts members in turn.",
        "The master ended, its machine is gone, or it lost its Lease.",
    ),
    (
        "`kubectl describe bc CLUSTER` shows the events; the Lease of the group names the holder.",
        "The log of the former master says `lost lease` or why it ended.",
    ),
    ("Nothing, if it was asked for. Else find out why the master ended.",),
)

LEASE_STALE: Final = Alert(
    "GantryLeaseStale",
    Severity.WARNING,
    "gantry_broker_lease_age_seconds > <seconds> or gantry_broker_lease_unreadable == 1",
    60,
    "{{ $labels.instance }} cannot read the Lease of {{ $labels.node_id }}",
    "A member had no answer about its group's Lease for half a minute.",
    (
        "The Kubernetes API is down or overloaded, or the network to it is cut.",
        "The member's service account may not read the Lease.",
    ),
    ("The member's log: `lease`, with the API's answer.", "`kubectl get lease -n NAMESPACE`."),
    (
        (
            "Bring the API back. A master that cannot renew stops taking messages when its Lease"
            " expires, unless all members confirm it without the API."
        ),
        "Give the account its rights back: the operator writes Role and RoleBinding.",
    ),
    seconds=30,
)

LEASE_DOUBTED: Final = Alert(
    "GantryLeaseDoubted",
    Severity.CRITICAL,
    "gantry_broker_lease_doubted == 1",
    60,
    "{{ $labels.instance }} does not trust the Lease of {{ $labels.node_id }}",
    "The group's Lease was edited, set back, deleted or damaged, and a member does not act on it.",
    (
        "A person or a program edited or deleted the Lease.",
        "The cluster's state was restored from a backup.",
    ),
    (_STATUS, "The audit log of the API server names the account that wrote the Lease."),
    (
        (
            "`kubectl gantry plan CLUSTER` says what the operator does about it. Do not edit the"
            " Lease again."
        ),
    ),
)

DISK_FOREIGN: Final = Alert(
    "GantryDiskForeign",
    Severity.CRITICAL,
    "gantry_broker_disk_foreign == 1",
    60,
    "{{ $labels.instance }} has the disk of another group",
    "The disk of a member has the log of another group.",
    ("A volume was bound to the wrong claim, or copied from another group.",),
    ("The member's log names both groups.",),
    (
        "Give the member its own volume back. It changes nothing on the foreign one.",
        (
            "If the messages on the disk are the group's, or are not needed, decide that with"
            " `gantry store adopt` or `archive`:"
            " [store tool](../store-tool.md#identity-adopt-archive)."
        ),
    ),
)

SEAT_CONFLICT: Final = Alert(
    "GantrySeatConflict",
    Severity.CRITICAL,
    "gantry_broker_seat_conflicts > 0",
    60,
    "Two processes claim one member of {{ $labels.node_id }}",
    "Two processes say that they are the same member of a group.",
    (
        "A pod was started a second time while the first one runs on a node that is cut off.",
        "Outside of Kubernetes: two brokers have the same member number.",
    ),
    ("The master's log names both disks.", "`kubectl get pods -o wide`."),
    (
        (
            "End the process that should not run. Until then the master counts only the process"
            " whose disk it knows for this member, and refuses the other one."
        ),
    ),
)

SERVICE_NOT_LED: Final = Alert(
    "GantryServiceNotLed",
    Severity.WARNING,
    "gantry_broker_slice_unpublished == 1",
    60,
    "The Service of {{ $labels.node_id }} does not lead to its master",
    "The master could not write the EndpointSlice that leads the group's Service to it.",
    (
        "The service account may not write EndpointSlices.",
        "The Kubernetes API does not answer.",
    ),
    ("The master's log: `EndpointSlice`, with the API's answer.", _STATUS),
    (
        (
            "Give the account its rights back. Clients reach the master through the name servers"
            " meanwhile, unless the Service is their only way."
        ),
    ),
)

GROUP: Final = Group(
    "replication",
    "is the data safe?",
    "Slaves that do not follow, changes of masters, and troubles with the Lease of a group.",
    (
        REPLICA_LAG,
        REPLICA_OUT_OF_SYNC,
        FAILOVER,
        LEASE_STALE,
        LEASE_DOUBTED,
        DISK_FOREIGN,
        SEAT_CONFLICT,
        SERVICE_NOT_LED,
    ),
)
