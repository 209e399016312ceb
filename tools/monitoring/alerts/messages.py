"""Defines alerts about messages that need a person: dead letters, transactions, timers."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Alert, Group, Severity
from tools.monitoring.promql import grown

DEAD_LETTERS: Final = Alert(
    "GantryDeadLetters",
    Severity.WARNING,
    grown(
        "rocketmq_send_to_dlq_messages_total", "10m", "namespace, cluster, consumer_group, topic"
    ),
    0,
    "{{ $labels.consumer_group }} gave up messages of {{ $labels.topic }}",
    "Messages of a group became dead letters in the last 10 minutes.",
    ("The group failed to process them as often as `retryMaxTimes` allows.",),
    (
        (
            "`gantry tail -t %DLQ%GROUP -n NAMESRV` shows them, with why they failed in their"
            " properties where the application says so."
        ),
    ),
    (
        (
            "Fix the application, then send them again: `gantry spark dlq` counts, exports and"
            " resends dead letters."
        ),
    ),
)

HALF_MESSAGE_OLD: Final = Alert(
    "GantryHalfMessageOld",
    Severity.WARNING,
    "max by (namespace, cluster, node_id) (gantry_broker_oldest_half_message_seconds) > <seconds>",
    60,
    "A transaction on {{ $labels.node_id }} has been open for {{ $value | humanizeDuration }}",
    "A producer neither committed nor rolled back a transaction for 15 minutes.",
    (
        "The producer is gone: no client of its group is connected, so none can be asked.",
        "The producer's check always answers that it does not know.",
    ),
    (
        "`gantry producerConnection -g GROUP -t TOPIC -n NAMESRV`: is the producer there?",
        "The broker's log names producer groups that no client answers for.",
    ),
    (
        "Start the producer again: it is asked, and ends the transaction.",
        "After `transactionCheckMax` checks the message goes to TRANS_CHECK_MAX_TIME_TOPIC.",
    ),
    seconds=900,
)

TIMER_LATE: Final = Alert(
    "GantryTimerLate",
    Severity.WARNING,
    "max by (namespace, cluster, node_id) (rocketmq_timer_dequeue_latency_milliseconds) / 1000"
    " > <seconds>",
    60,
    "Timer messages of {{ $labels.node_id }} are {{ $value | humanizeDuration }} late",
    "Timer messages are delivered more than 5 seconds after their time.",
    (
        "Too many timer messages are due at the same time.",
        "The store takes no messages, or is slow.",
    ),
    (
        "`gantry brokerStatus -b HOST:10911`: timerCongestNum, timerReadBehind, timerDequeueTps.",
        "Dashboard *Gantry: brokers*, row *Timers*.",
    ),
    (
        "Spread the times of timers by some seconds.",
        "If the store is the cause: [GantryRefusesWrites](storage.md#gantryrefuseswrites).",
    ),
    seconds=5,
)

TIMER_LOST: Final = Alert(
    "GantryTimerLost",
    Severity.CRITICAL,
    grown(
        'gantry_broker_timer_messages_total{outcome="lost"}', "1h", "namespace, cluster, node_id"
    ),
    0,
    "{{ $labels.node_id }} lost timer messages",
    "Timer messages could not be delivered: they were deleted with the log, or are damaged.",
    (
        "The broker was down for longer than `fileReservedTime`.",
        "The disk was so full that old files were deleted early.",
        "Files of the commit log are damaged or missing, or `gantry store repair` gave them up.",
    ),
    (
        (
            "The broker's log has the number, and the offsets in the timer queue. The number that"
            " a start finds missing is an upper bound: some may have been delivered before."
        ),
        "`gantry store check DIR` of a stopped broker or a copy.",
    ),
    ("Send them again, if the application can.", "Raise `fileReservedTime`, or free the disk."),
)

GROUP: Final = Group(
    "messages",
    "messages that need a person",
    "Dead letters, transactions that stay open, timers that are late or lost.",
    (DEAD_LETTERS, HALF_MESSAGE_OLD, TIMER_LATE, TIMER_LOST),
)
