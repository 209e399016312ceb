"""Defines the dashboard of consumer groups: lag, deliveries, retries and dead letters."""

from __future__ import annotations

from typing import Final

from tools.monitoring.panel import (
    BROKER,
    CLUSTER,
    NAMESPACE,
    Colour,
    Dashboard,
    Row,
    Variable,
    graph,
    limits,
    number,
)
from tools.monitoring.promql import of_any_broker, of_masters

GROUP: Final = Variable(
    "group", "Group", 'rocketmq_consumer_lag_messages{cluster=~"$cluster"}', "consumer_group"
)
_OF: Final = '<broker>,consumer_group=~"$group"'
_PLAIN: Final = f'{_OF},is_system="false"'
_PLACE: Final = "{{consumer_group}} {{topic}}"

_LAG_MESSAGES: Final = of_masters(f"rocketmq_consumer_lag_messages{{{_PLAIN}}}")
_LAG_TIME: Final = of_masters(f"rocketmq_consumer_lag_latency_milliseconds{{{_PLAIN}}}")
_CONSUMERS: Final = of_any_broker(
    f"rocketmq_consumer_connections{{{_OF}}}", "namespace, cluster, consumer_group"
)


def _worst(how: str, vector: str) -> tuple[str, str]:
    """The twenty pairs of group and topic with the highest values, of masters only."""
    return f"topk(20, {how} by (consumer_group, topic) {of_masters(vector)})", _PLACE


_QUESTIONS: Final = Row(
    "Do consumers keep up?",
    (
        number(
            "Messages that wait",
            "Messages that the groups have not acknowledged.",
            f"sum({_LAG_MESSAGES}) or vector(0)",
            width=6,
        ),
        number(
            "Oldest of them",
            "Age of the oldest message that a group has not acknowledged.",
            f"max({_LAG_TIME}) or vector(0)",
            unit="ms",
            steps=limits(60_000, 300_000),
            width=6,
        ),
        number(
            "Consumers",
            "Consumers that send heartbeats.",
            f"sum({_CONSUMERS}) or vector(0)",
            width=6,
        ),
        number(
            "Dead letters",
            "Messages of the groups that became dead letters in the last hour.",
            f"sum(increase(rocketmq_send_to_dlq_messages_total{{{_OF}}}[1h])) or vector(0)",
            steps=((None, Colour.GOOD), (1, Colour.WARNING)),
            width=6,
        ),
    ),
)

_LAG: Final = Row(
    "Lag",
    (
        graph(
            "Messages",
            "Messages that a group has not acknowledged, whether it is online or not.",
            _worst("sum", f"rocketmq_consumer_lag_messages{{{_PLAIN}}}"),
            width=12,
        ),
        graph(
            "Time",
            "Age of the oldest message that a group has not acknowledged.",
            _worst("max", f"rocketmq_consumer_lag_latency_milliseconds{{{_PLAIN}}}"),
            unit="ms",
            width=12,
        ),
        graph(
            "Change",
            "How fast the lag grows; below zero the group catches up.",
            _worst("sum", f"deriv(rocketmq_consumer_lag_messages{{{_PLAIN}}}[5m])"),
            unit="mps",
        ),
        graph(
            "Messages out",
            "Messages that are delivered to a group.",
            (
                (
                    "topk(20, sum by (consumer_group, topic)"
                    f" (rate(rocketmq_messages_out_total{{{_PLAIN}}}[<window>])))"
                ),
                _PLACE,
            ),
            unit="mps",
        ),
        graph(
            "In flight",
            "Messages that consumers were given and have not acknowledged. Much of the lag: the"
            " consumers are slow, not the broker.",
            _worst("sum", f"rocketmq_consumer_inflight_messages{{{_PLAIN}}}"),
        ),
        graph(
            "Ready",
            "Messages that the group was not given yet. Much of the lag: too few consumers, or"
            " none.",
            _worst("sum", f"rocketmq_consumer_ready_messages{{{_PLAIN}}}"),
        ),
        graph(
            "Queueing time",
            "Age of the oldest message that was not delivered to the group yet.",
            _worst("max", f"rocketmq_consumer_queueing_latency_milliseconds{{{_PLAIN}}}"),
            unit="ms",
        ),
        graph(
            "Oldest unacknowledged",
            "Age of the oldest message that a consumer was given and has not acknowledged: one"
            " message that hangs holds up its queue.",
            _worst("max", f"gantry_broker_oldest_unacknowledged_seconds{{{_OF}}}"),
            unit="s",
        ),
        graph(
            "Popped",
            "Messages that POP consumers hold, by broker.",
            ("rocketmq_pop_checkpoint_buffer_size{<broker>}", "{{node_id}} {{instance}}"),
        ),
        graph(
            "Offsets set back",
            "How often offsets of a broker's groups moved backwards: messages are delivered again.",
            (
                "increase(gantry_broker_backward_commits_total{<broker>}[5m])",
                "{{node_id}} {{instance}}",
            ),
        ),
    ),
)

_RETRIES: Final = Row(
    "Retries",
    (
        graph(
            "Sent back",
            "Messages that consumers failed to process and gave back.",
            (
                (
                    "topk(20, sum by (consumer_group, topic)"
                    f" (rate(gantry_broker_messages_sent_back_total{{{_OF}}}[<window>])))"
                ),
                _PLACE,
            ),
            unit="mps",
        ),
        graph(
            "Dead letters",
            "Messages that failed too often and became dead letters.",
            (
                (
                    "sum by (consumer_group)"
                    f" (increase(rocketmq_send_to_dlq_messages_total{{{_OF}}}[5m]))"
                ),
                "{{consumer_group}}",
            ),
        ),
        graph(
            "Popped again",
            "Popped messages that were not acknowledged in time.",
            (
                (
                    "sum by (consumer_group, topic)"
                    f" (rate(rocketmq_pop_revive_retry_messages_total{{{_OF}}}[<window>]))"
                ),
                _PLACE,
            ),
            unit="mps",
        ),
    ),
)

_CLIENTS: Final = Row(
    "Clients",
    (
        graph(
            "Consumers",
            "Consumers that send heartbeats, by group.",
            (f"topk(20, {_CONSUMERS})", "{{consumer_group}}"),
        ),
        graph(
            "Conflicts in groups",
            "Groups whose members subscribe differently or share a client id.",
            (
                f"max by (consumer_group, kind) (gantry_broker_group_conflicts{{{_OF}}}) > 0",
                "{{consumer_group}} {{kind}}",
            ),
        ),
    ),
)

DASHBOARD: Final = Dashboard(
    "group",
    "Gantry: consumer groups and lag",
    "What waits for consumer groups, why, and what they give back.",
    (NAMESPACE, CLUSTER, BROKER, GROUP),
    (_QUESTIONS, _LAG, _RETRIES, _CLIENTS),
)
