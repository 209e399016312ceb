"""Defines alerts about consumer groups: lag, failures and conflicts."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Alert, Group, Severity
from tools.monitoring.promql import of_masters

_GROUP: Final = "namespace, cluster, consumer_group"
_PLACE: Final = f"{_GROUP}, topic"
_LAG: Final = of_masters('rocketmq_consumer_lag_messages{is_system="false"}')
_LAG_TIME: Final = of_masters('rocketmq_consumer_lag_latency_milliseconds{is_system="false"}')
_GROWTH: Final = of_masters('deriv(rocketmq_consumer_lag_messages{is_system="false"}[10m])')
_PROGRESS: Final = "`gantry consumerProgress -g GROUP -n NAMESRV` shows the lag of each queue."

LAG_TOO_OLD: Final = Alert(
    "GantryLagTooOld",
    Severity.WARNING,
    f"max by ({_PLACE}) {_LAG_TIME} / 1000 > <seconds>",
    120,
    "{{ $labels.consumer_group }} is {{ $value | humanizeDuration }} behind on {{ $labels.topic }}",
    "The oldest message that a group has not acknowledged is older than 5 minutes.",
    (
        "The consumers are slow, or too few.",
        "One message cannot be processed and holds up its queue.",
        "No consumer is connected.",
    ),
    (
        _PROGRESS,
        (
            "Dashboard *Gantry: consumer groups and lag*: *In flight* near the lag: the consumers"
            " are slow. *Ready* near the lag: too few take messages. *Oldest unacknowledged*"
            " alone high: one message hangs."
        ),
    ),
    (
        "Start more consumers, up to the number of queues; then add queues.",
        (
            "`gantry consumerStatus -g GROUP -s -n NAMESRV` shows what the threads of Java"
            " consumers do."
        ),
        "If the old messages are worthless: `gantry skipAccumulatedMessage`.",
    ),
    seconds=300,
)

LAG_GROWING: Final = Alert(
    "GantryLagGrowing",
    Severity.WARNING,
    f"sum by ({_PLACE}) {_LAG} > 10000 and sum by ({_PLACE}) {_GROWTH} > 0",
    900,
    "{{ $labels.consumer_group }} falls behind on {{ $labels.topic }}",
    "More than 10 000 messages wait for a group, and their number grows.",
    (
        "Producers send more than usual.",
        "Consumers became slower, or fewer.",
    ),
    (
        (
            "Dashboard *Gantry: consumer groups and lag*: *Messages out* against *Messages in* of"
            " the topic."
        ),
        "`gantry consumerConnection -g GROUP -n NAMESRV` lists the consumers.",
    ),
    ("Start more consumers, up to the number of queues.", "Find out what slows them down."),
)

GROUP_OFFLINE_WITH_LAG: Final = Alert(
    "GantryGroupOfflineWithLag",
    Severity.WARNING,
    f"sum by ({_GROUP}) {_LAG} > 0"
    f" unless on ({_GROUP}) sum by ({_GROUP}) (rocketmq_consumer_connections) > 0",
    600,
    "Messages wait for {{ $labels.consumer_group }}, which has no consumer",
    "Messages wait for a group, and none of its consumers is connected.",
    (
        "The application is down, or cannot reach the brokers.",
        "The group is not used any more.",
    ),
    (
        "`gantry consumerConnection -g GROUP -n NAMESRV`.",
        "The application's log; [doctor](../../reference/command-line.md) names usual mistakes.",
    ),
    (
        "Start the application again.",
        "Delete a group that is not used: `gantry deleteSubGroup -c CLUSTER -g GROUP -r true`.",
    ),
)

GROUP_CONFLICT: Final = Alert(
    "GantryGroupConflict",
    Severity.WARNING,
    f"max by ({_GROUP}, kind) (gantry_broker_group_conflicts) > 0",
    300,
    "Members of {{ $labels.consumer_group }} contradict each other: {{ $labels.kind }}",
    "Members of one group subscribe differently, or share a client id: messages reach none of"
    " them, or the wrong one.",
    (
        "Two versions of an application run, with different topics or filters.",
        "Two applications have the same group name.",
        "Two processes in containers have the same client id.",
    ),
    (
        (
            "`gantry consumerConnection -g GROUP -n NAMESRV` shows each member's subscriptions and"
            " client ids; the broker's log names both members."
        ),
    ),
    (
        (
            "Give each application a group of its own; in a rolling update with other subscriptions"
            " use a new group name."
        ),
        "Give each process its own instance name.",
    ),
)

OLDEST_UNACKNOWLEDGED: Final = Alert(
    "GantryOldestUnacknowledged",
    Severity.WARNING,
    f"max by ({_PLACE}) {of_masters('gantry_broker_oldest_unacknowledged_seconds')} > <seconds>",
    60,
    "{{ $labels.consumer_group }} holds a message of {{ $labels.topic }} for"
    " {{ $value | humanizeDuration }}",
    "A consumer got a message more than 15 minutes ago and has not acknowledged it.",
    (
        "Its handler hangs or waits for something else.",
        "The consumer fetches many more messages than it processes.",
    ),
    (
        _PROGRESS,
        (
            "`gantry consumerStatus -g GROUP -s -n NAMESRV` shows what the threads of Java"
            " consumers do."
        ),
    ),
    (
        "Restart the consumer that hangs: its messages go to another one.",
        "Give handlers a time limit.",
    ),
    seconds=900,
)

RETRY_STORM: Final = Alert(
    "GantryRetryStorm",
    Severity.WARNING,
    f"sum by ({_GROUP}) (rate(gantry_broker_messages_sent_back_total[5m])) > 1",
    300,
    "{{ $labels.consumer_group }} sends back {{ $value | humanize }} messages a second",
    "A group fails to process more than one message a second, and sends them back.",
    (
        "What the consumers depend on is down.",
        "A new version of the application, or of the messages, has a defect.",
    ),
    (
        "The application's log.",
        "Dashboard *Gantry: consumer groups and lag*, *Sent back*: since when?",
    ),
    ("Fix the cause, or stop the consumers: messages that fail too often become dead letters.",),
)

GROUP: Final = Group(
    "consumers",
    "do consumers keep up?",
    "Groups that fall behind, are offline, hang, or contradict themselves.",
    (
        LAG_TOO_OLD,
        LAG_GROWING,
        GROUP_OFFLINE_WITH_LAG,
        GROUP_CONFLICT,
        OLDEST_UNACKNOWLEDGED,
        RETRY_STORM,
    ),
)
