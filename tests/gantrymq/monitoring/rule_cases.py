"""For each alert: series with which it fires, and similar ones with which it does not.

Values are in promtool's notation, one a minute: `0x40` is 41 times 0, `0+5x40` grows by 5.
Everything is judged 40 minutes after the first value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

SECONDS: Final = 60
COUNT: Final = 41

NODE: Final = '{cluster="c",node_type="broker",node_id="b",instance="i",job="j"}'
PROCESS: Final = '{instance="i",job="j"}'


def flat(value: float) -> str:
    return f"{value:g}x{COUNT - 1}"


def growing(step: float, first: float = 0) -> str:
    return f"{first:g}{step:+g}x{COUNT - 1}"


def stepped(before: float, after: float) -> str:
    """A series whose value changes from the first to the second 5 minutes before the end."""
    late = 300 // SECONDS
    return f"{before:g}x{COUNT - late - 1} {after:g}x{late - 1}"


def fresh(value: float) -> str:
    """A series that begins 5 minutes before the end."""
    late = 300 // SECONDS
    return f"_x{COUNT - late} {value:g}x{late - 1}"


def gone(value: float) -> str:
    """A series that ends 10 minutes before the end."""
    late = 600 // SECONDS
    return f"{value:g}x{COUNT - late - 1} _x{late}"


def node(name: str, *, of: str = "", **labels: str) -> str:
    """A series of a broker."""
    text = NODE if not of else NODE.replace('instance="i"', f'instance="{of}"')
    return text_of(name, text, labels)


def process(name: str, *, of: str = "i", **labels: str) -> str:
    """A series of any process."""
    return text_of(name, PROCESS.replace('"i"', f'"{of}"'), labels)


def text_of(name: str, selector: str, labels: Mapping[str, str]) -> str:
    more = "".join(f',{label}="{value}"' for label, value in labels.items())
    return f"{name}{selector[:-1]}{more}}}"


Given = Mapping[str, str]


@final
@dataclass(frozen=True, slots=True)
class Case:
    """The series with which an alert fires, and those with which it does not."""

    bad: Given
    good: Given


def at_limit(series: str, bad: float, good: float) -> Case:
    """A case with a gauge that is beyond the limit, and one that is not."""
    return Case({series: flat(bad)}, {series: flat(good)})


def counted(series: str) -> Case:
    """A case with a counter that is new, and one that does not grow. `ALSO` has one that grows."""
    return Case({series: fresh(1)}, {series: flat(7)})


LAG: Final = {"consumer_group": "g", "topic": "t", "is_retry": "false", "is_system": "false"}
_LAG = node("rocketmq_consumer_lag_messages", **LAG)
_AGE = node("rocketmq_consumer_lag_latency_milliseconds", **LAG)
_AGE_OF_SLAVE = node("rocketmq_consumer_lag_latency_milliseconds", of="s", **LAG)
_CONSUMERS = node("rocketmq_consumer_connections", consumer_group="g")
_FREE, _SIZE = node("gantry_broker_disk_free_bytes"), node("gantry_broker_disk_size_bytes")
_MASTER, _SLAVE = node("gantry_broker_is_master"), node("gantry_broker_is_master", of="s")
_SYNC = node("gantry_broker_log_sync_seconds_bucket", le="0.2")
_SYNC_SLOW = node("gantry_broker_log_sync_seconds_bucket", le="1")
_SYNC_ALL = node("gantry_broker_log_sync_seconds_bucket", le="+Inf")
_HEARD = node("gantry_broker_master_heard_timestamp_seconds", of="s")
_IN_SYNC = "gantry_broker_slave_in_sync"
_RPC = "rocketmq_rpc_latency_milliseconds_bucket"
_QUERY = {"query": "q"}
_COMMITTED = process("gantry_spark_last_commit_timestamp_seconds", **_QUERY)
_ACTIVE = process("gantry_spark_query_active", **_QUERY)
_BEHIND = process("gantry_spark_topic_lag", topic="t", **_QUERY)

CASES: Final[Mapping[str, Case]] = {
    "GantryTargetDown": Case(
        {process("up"): stepped(1, 0), process("gantry_event_loop_lag_seconds"): gone(0)},
        {process("up"): stepped(1, 0)},  # not a process of Gantry
    ),
    "GantryNoMaster": Case(
        {_MASTER: flat(0), _SLAVE: flat(0), _HEARD: flat(0)},
        # Prometheus cannot reach the master, but its slave still receives from it.
        {_SLAVE: flat(0), _HEARD: growing(SECONDS)},
    ),
    "GantryBrokerGone": Case({_MASTER: gone(1)}, {_MASTER: gone(1), _SLAVE: flat(0)}),
    "GantryNameServersDisagree": Case(
        {
            process("gantry_namesrv_brokers"): flat(2),
            process("gantry_namesrv_brokers", of="k"): flat(3),
        },
        {
            process("gantry_namesrv_brokers"): flat(2),
            process("gantry_namesrv_brokers", of="k"): flat(2),
        },
    ),
    "GantryNameServerRefuses": Case(
        {process("gantry_namesrv_registrations_total", outcome="refused"): fresh(1)},
        {process("gantry_namesrv_registrations_total", outcome="applied"): growing(1)},
    ),
    "GantryBrokerExpired": counted(process("gantry_namesrv_expired_brokers_total")),
    "GantryCertificateExpires": at_limit(
        process("gantry_tls_certificate_expires_timestamp_seconds"), 86_400, 15 * 86_400
    ),
    "GantryRefusesWrites": at_limit(node("gantry_broker_refusing_writes"), 1, 0),
    "GantryDiskFull": Case(
        {_FREE: flat(24), _SIZE: flat(100)}, {_FREE: flat(26), _SIZE: flat(100)}
    ),
    "GantryDiskWillFill": Case(
        {_FREE: growing(-0.2, 40), _SIZE: flat(100)},
        {_FREE: growing(-0.2, 90), _SIZE: flat(100)},  # fills as fast, and there is time
    ),
    "GantryLogSyncSlow": Case(
        {_SYNC: growing(90), _SYNC_SLOW: growing(100), _SYNC_ALL: growing(100)},
        {_SYNC: growing(100), _SYNC_SLOW: growing(100), _SYNC_ALL: growing(100)},
    ),
    "GantryReplicaLag": at_limit(
        node("gantry_broker_slave_behind_bytes", slave="s"), 65 << 20, 63 << 20
    ),
    "GantryReplicaOutOfSync": Case(
        {node("gantry_broker_in_sync_members"): flat(1), _MASTER: flat(1), _SLAVE: flat(0)},
        {
            node("gantry_broker_in_sync_members"): flat(2),
            node(_IN_SYNC, slave="s"): flat(1),
            _MASTER: flat(1),
            _SLAVE: flat(0),
        },
    ),
    "GantryFailover": Case(
        {node("gantry_broker_role_changes_total", role="master"): fresh(1)},
        {node("gantry_broker_role_changes_total", role="slave"): growing(1)},
    ),
    "GantryLeaseStale": at_limit(node("gantry_broker_lease_age_seconds"), 31, 29),
    "GantryLeaseDoubted": at_limit(node("gantry_broker_lease_doubted"), 1, 0),
    "GantryDiskForeign": at_limit(node("gantry_broker_disk_foreign"), 1, 0),
    "GantrySeatConflict": at_limit(node("gantry_broker_seat_conflicts"), 1, 0),
    "GantryServiceNotLed": at_limit(node("gantry_broker_slice_unpublished"), 1, 0),
    "GantryFlowControl": Case(
        {node("gantry_broker_flow_control_total", cause="memory"): growing(1)},
        {node("gantry_broker_flow_control_total", cause="memory"): flat(9)},
    ),
    "GantryPutLatencyHigh": Case(
        {node("gantry_broker_put_latency_seconds", quantile="0.99"): flat(0.06)},
        {node("gantry_broker_put_latency_seconds", quantile="0.999"): flat(0.06)},
    ),
    "GantryLoopLag": at_limit(process("gantry_event_loop_lag_seconds"), 0.2, 0.05),
    "GantrySeriesDropped": at_limit(process("gantry_metrics_dropped_series", metric="m"), 1, 0),
    "GantryLagTooOld": Case(
        {_AGE: flat(301_000), _MASTER: flat(1)},
        # Lags of slaves do not count: slaves copy offsets only now and then.
        {_AGE: flat(299_000), _AGE_OF_SLAVE: flat(400_000), _MASTER: flat(1), _SLAVE: flat(0)},
    ),
    "GantryLagGrowing": Case({_LAG: growing(200, 10_001)}, {_LAG: growing(-100, 30_000)}),
    "GantryGroupOfflineWithLag": Case(
        {_LAG: flat(1)},
        {_LAG: flat(1), _CONSUMERS: flat(1)},
    ),
    "GantryGroupConflict": at_limit(
        node("gantry_broker_group_conflicts", consumer_group="g", kind="subscription"), 1, 0
    ),
    "GantryOldestUnacknowledged": at_limit(
        node("gantry_broker_oldest_unacknowledged_seconds", consumer_group="g", topic="t"), 901, 899
    ),
    "GantryRetryStorm": Case(
        {node("gantry_broker_messages_sent_back_total", consumer_group="g"): growing(80)},
        {node("gantry_broker_messages_sent_back_total", consumer_group="g"): growing(40)},
    ),
    "GantryDeadLetters": counted(node("rocketmq_send_to_dlq_messages_total", consumer_group="g")),
    "GantryHalfMessageOld": at_limit(node("gantry_broker_oldest_half_message_seconds"), 901, 899),
    "GantryTimerLate": at_limit(node("rocketmq_timer_dequeue_latency_milliseconds"), 5001, 4999),
    "GantryTimerLost": Case(
        {node("gantry_broker_timer_messages_total", outcome="lost"): stepped(3, 4)},
        {node("gantry_broker_timer_messages_total", outcome="delivered"): growing(5)},
    ),
    "GantryOperatorWithoutLeader": Case(
        {
            process("gantry_operator_leader"): flat(0),
            process("gantry_operator_leader", of="k"): flat(0),
        },
        {
            process("gantry_operator_leader"): flat(0),
            process("gantry_operator_leader", of="k"): flat(1),
        },
    ),
    "GantryOperatorLate": at_limit(process("gantry_operator_queue_lateness_seconds"), 121, 119),
    "GantryOperatorFailing": Case(
        {process("gantry_operator_reconciles_total", work="topic", outcome="bug"): growing(1)},
        {process("gantry_operator_reconciles_total", work="topic", outcome="conflict"): growing(1)},
    ),
    "GantryOperatorForbidden": at_limit(
        process("gantry_operator_reflector_refused", kind="nodes"), 1, 0
    ),
    "GantrySparkQueryFailed": counted(process("gantry_spark_query_failures_total", **_QUERY)),
    "GantrySparkQueryStalled": Case(
        {_COMMITTED: flat(0), _ACTIVE: flat(1), _BEHIND: flat(5)},
        {_COMMITTED: flat(0), _ACTIVE: flat(1), _BEHIND: flat(0)},  # nothing to read
    ),
    "GantrySparkLagGrowing": Case(
        {_BEHIND: growing(200, 10_001)}, {_BEHIND: growing(-100, 30_000)}
    ),
    "GantrySparkDataLoss": counted(process("gantry_spark_data_loss_total", **_QUERY)),
}

# Other series with which an alert fires: the rest of its expression, and counters that were there
# before and grew, where `counted` gives those that are new.
ALSO: Final[tuple[tuple[str, Given], ...]] = (
    *(
        (name, {series: stepped(3, 4) for series in CASES[name].bad})
        for name in (
            *("GantryBrokerExpired", "GantryDeadLetters", "GantryFailover"),
            *("GantryNameServerRefuses", "GantrySparkDataLoss", "GantrySparkQueryFailed"),
        )
    ),
    (
        "GantryReplicaOutOfSync",
        {_MASTER: flat(1), _SLAVE: flat(0), node(_IN_SYNC, slave="s"): flat(0)},
    ),
    ("GantryReplicaOutOfSync", {_MASTER: flat(1), _SLAVE: flat(0)}),
    ("GantryLeaseStale", {node("gantry_broker_lease_unreadable"): flat(1)}),
    (
        "GantryNameServersDisagree",
        {
            process("gantry_namesrv_topics"): flat(8),
            process("gantry_namesrv_topics", of="k"): flat(9),
        },
    ),
    (
        "GantryPutLatencyHigh",
        {
            node(_RPC, request_code="send_message_v2", le="100"): growing(90),
            node(_RPC, request_code="send_message_v2", le="1000"): growing(100),
            node(_RPC, request_code="send_message_v2", le="+Inf"): growing(100),
        },
    ),
)
