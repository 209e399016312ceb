"""Defines the dashboard of replication and failovers."""

from __future__ import annotations

from typing import Final

from tools.monitoring.panel import (
    BROKER,
    CLUSTER,
    NAMESPACE,
    ZERO_IS_GOOD,
    Dashboard,
    Row,
    graph,
    limits,
    number,
)

_NODE: Final = "{{node_id}} {{instance}}"

_QUESTIONS: Final = Row(
    "Is the data safe?",
    (
        number(
            "Brokers without a master",
            "Broker names without a master.",
            "count(max by (namespace, cluster, node_id) (gantry_broker_is_master{<broker>}) == 0)"
            " or vector(0)",
            steps=ZERO_IS_GOOD,
            width=6,
        ),
        number(
            "Slaves out of sync",
            "Connected slaves that are too far behind to take over without loss.",
            "count(gantry_broker_slave_in_sync{<broker>} == 0) or vector(0)",
            steps=ZERO_IS_GOOD,
            width=6,
        ),
        number(
            "Furthest slave behind",
            "Bytes of the commit log that a slave lacks.",
            "max(gantry_broker_slave_behind_bytes{<broker>}) or vector(0)",
            unit="bytes",
            steps=limits(16 << 20, 64 << 20),
            width=6,
        ),
        number(
            "Failovers",
            "How often a member became master in the last day.",
            'sum(increase(gantry_broker_role_changes_total{<broker>,role="master"}[1d]))'
            " or vector(0)",
            width=6,
        ),
    ),
)

_REPLICATION: Final = Row(
    "Replication",
    (
        graph(
            "Bytes behind",
            "Bytes of the commit log that a connected slave lacks, as its master counts them.",
            ("gantry_broker_slave_behind_bytes{<broker>}", "{{node_id}} to {{slave}}"),
            unit="bytes",
        ),
        graph(
            "In sync",
            "Whether a connected slave is close behind. A slave without a line is not connected.",
            ("gantry_broker_slave_in_sync{<broker>}", "{{node_id}} to {{slave}}"),
        ),
        graph(
            "Throughput",
            "Bytes of the commit log that a slave takes.",
            ("gantry_broker_slave_bytes_per_second{<broker>}", "{{node_id}} to {{slave}}"),
            unit="Bps",
        ),
        graph(
            "Master known",
            "Whether a slave knows its master.",
            ("gantry_broker_master_known{<broker>}", _NODE),
        ),
        graph(
            "Master heard",
            "Time since a slave last received bytes from its master.",
            ("time() - (gantry_broker_master_heard_timestamp_seconds{<broker>} > 0)", _NODE),
            unit="s",
        ),
        graph(
            "Tables not copied",
            "Tables of the master (topics, groups, offsets, delays) that a slave failed to copy.",
            ("gantry_broker_master_tables_not_copied{<broker>}", _NODE),
        ),
        graph(
            "Failovers",
            "How often a member became master, or stopped being master.",
            (
                "sum by (node_id, role) (increase(gantry_broker_role_changes_total{<broker>}[5m]))",
                "{{node_id}} {{role}}",
            ),
        ),
        graph(
            "Epoch",
            "The newest epoch that each member has seen, and the one in which a member leads. Two"
            " members never lead in one epoch.",
            ("gantry_broker_epoch{<broker>}", f"{_NODE} seen"),
            ("gantry_broker_led_epoch{<broker>} > 0", f"{_NODE} leads"),
        ),
        graph(
            "In-sync members",
            "Members in the in-sync set of the group's Lease: those that have all acknowledged"
            " messages.",
            ("max by (node_id) (gantry_broker_in_sync_members{<broker>})", "{{node_id}}"),
        ),
        graph(
            "Lease age",
            "Time since the Kubernetes API last answered about the group's Lease. A master that"
            " cannot renew it stops when it expires.",
            ("gantry_broker_lease_age_seconds{<broker>}", _NODE),
            unit="s",
        ),
        graph(
            "Lease problems",
            "The Lease cannot be read, was edited or damaged, or has malformed annotations; or"
            " two processes claim one member's place or disk.",
            ("gantry_broker_lease_unreadable{<broker>}", f"{_NODE} unreadable"),
            ("gantry_broker_lease_doubted{<broker>}", f"{_NODE} doubted"),
            ("gantry_broker_ignored_wishes{<broker>}", f"{_NODE} wishes ignored"),
            ("gantry_broker_disk_foreign{<broker>}", f"{_NODE} disk of another group"),
            ("gantry_broker_seat_conflicts{<broker>}", f"{_NODE} seats claimed twice"),
        ),
        graph(
            "Service problems",
            "The master cannot make the group's Service lead to itself, or other EndpointSlices"
            " are in the way.",
            ("gantry_broker_slice_unpublished{<broker>}", f"{_NODE} not led"),
            ("gantry_broker_foreign_slices{<broker>}", f"{_NODE} foreign slices"),
            ("gantry_broker_foreign_slices_unknown{<broker>}", f"{_NODE} not listed"),
        ),
    ),
)

DASHBOARD: Final = Dashboard(
    "replication",
    "Gantry: replication and failover",
    "Whether slaves follow their masters, and when masters changed.",
    (NAMESPACE, CLUSTER, BROKER),
    (_QUESTIONS, _REPLICATION),
)
