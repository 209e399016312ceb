"""Defines the dashboard of topics: traffic and transactions."""

from __future__ import annotations

from typing import Final

from tools.monitoring.panel import BROKER, CLUSTER, NAMESPACE, Dashboard, Row, Variable, graph

TOPIC: Final = Variable(
    "topic", "Topic", 'rocketmq_messages_in_total{cluster=~"$cluster"}', "topic"
)
_IN: Final = '<broker>,topic=~"$topic"'

_TRAFFIC: Final = Row(
    "Traffic",
    (
        graph(
            "Messages in",
            "Messages that producers send, of the twenty busiest topics.",
            (
                f"topk(20, sum by (topic) (rate(rocketmq_messages_in_total{{{_IN}}}[<window>])))",
                "{{topic}}",
            ),
            unit="mps",
            width=12,
        ),
        graph(
            "Messages out",
            "Messages that consumers are given, by topic and group.",
            (
                (
                    "topk(20, sum by (topic, consumer_group)"
                    f" (rate(rocketmq_messages_out_total{{{_IN}}}[<window>])))"
                ),
                "{{topic}} {{consumer_group}}",
            ),
            unit="mps",
            width=12,
        ),
        graph(
            "Bytes in",
            "Bytes in the commit log of the messages that producers send.",
            (
                f"topk(20, sum by (topic) (rate(rocketmq_throughput_in_total{{{_IN}}}[<window>])))",
                "{{topic}}",
            ),
            unit="Bps",
        ),
        graph(
            "Bytes out",
            "Bytes of the messages that consumers are given.",
            (
                (
                    "topk(20, sum by (topic, consumer_group)"
                    f" (rate(rocketmq_throughput_out_total{{{_IN}}}[<window>])))"
                ),
                "{{topic}} {{consumer_group}}",
            ),
            unit="Bps",
        ),
        graph(
            "Message size",
            "Mean size of a message in the commit log.",
            (
                (
                    f"topk(20, sum by (topic) (rate(rocketmq_message_size_sum{{{_IN}}}[<window>]))"
                    f" / sum by (topic) (rate(rocketmq_message_size_count{{{_IN}}}[<window>])))"
                ),
                "{{topic}}",
            ),
            unit="bytes",
        ),
        graph(
            "Brokers",
            "The distribution of the topics' messages over brokers. Uneven: producers do not know"
            " all queues, or choose one by a key.",
            (
                f"sum by (node_id) (rate(rocketmq_messages_in_total{{{_IN}}}[<window>]))",
                "{{node_id}}",
            ),
            unit="mps",
            is_stacked=True,
        ),
        graph(
            "Kinds",
            "Messages by kind: normal, in order, delayed, of transactions.",
            (
                f"sum by (message_type) (rate(rocketmq_messages_in_total{{{_IN}}}[<window>]))",
                "{{message_type}}",
            ),
            unit="mps",
            is_stacked=True,
        ),
    ),
)

_TRANSACTIONS: Final = Row(
    "Transactions",
    (
        graph(
            "Open",
            "Transactions that are neither committed nor rolled back.",
            (f"sum by (topic) (rocketmq_half_messages{{{_IN}}})", "{{topic}}"),
        ),
        graph(
            "Oldest open",
            "Age of the oldest open transaction of a broker.",
            ("gantry_broker_oldest_half_message_seconds{<broker>}", "{{node_id}} {{instance}}"),
            unit="s",
        ),
        graph(
            "Committed",
            "Transactions that their producers committed.",
            (
                f"sum by (topic) (rate(rocketmq_commit_messages_total{{{_IN}}}[<window>]))",
                "{{topic}}",
            ),
            unit="mps",
        ),
        graph(
            "Rolled back",
            "Transactions that their producers rolled back.",
            (
                f"sum by (topic) (rate(rocketmq_rollback_messages_total{{{_IN}}}[<window>]))",
                "{{topic}}",
            ),
            unit="mps",
        ),
        graph(
            "Time to commit",
            "Within this time 9 of 10 transactions are committed. The metric counts seconds, in"
            " spite of its name.",
            (
                (
                    "histogram_quantile(0.9, sum by (le, topic)"
                    " (rate(rocketmq_finish_message_latency_milliseconds_bucket"
                    f"{{{_IN}}}[<window>])))"
                ),
                "{{topic}}",
            ),
            unit="s",
        ),
    ),
)

DASHBOARD: Final = Dashboard(
    "topic",
    "Gantry: topics",
    "What goes through topics.",
    (NAMESPACE, CLUSTER, BROKER, TOPIC),
    (_TRAFFIC, _TRANSACTIONS),
)
