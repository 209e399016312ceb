"""Defines the overview dashboard: four questions about all clusters, and their traffic."""

from __future__ import annotations

from typing import Final

from tools.monitoring.panel import (
    BROKER,
    CLUSTER,
    INSTANCE,
    JOB,
    NAMESPACE,
    ONE_IS_GOOD,
    ZERO_IS_GOOD,
    Colour,
    Dashboard,
    Row,
    graph,
    limits,
    number,
)
from tools.monitoring.promql import of_masters

_SET: Final = "namespace, cluster, node_id"
_IN: Final = 'rocketmq_messages_in_total{<broker>,is_system="false"}'
_OUT: Final = 'rocketmq_messages_out_total{<broker>,is_system="false"}'
_LAG_MESSAGES: Final = of_masters('rocketmq_consumer_lag_messages{<broker>,is_system="false"}')
_LAG_TIME: Final = of_masters(
    'rocketmq_consumer_lag_latency_milliseconds{<broker>,is_system="false"}'
)

_IS_UP: Final = Row(
    "Is it up?",
    (
        number(
            "Processes down",
            "Processes that Prometheus cannot reach. A deleted pod is not among them:"
            " look at the brokers without a master.",
            'count(up{job=~"$job"} == 0) or vector(0)',
            steps=ZERO_IS_GOOD,
        ),
        number(
            "Brokers without a master",
            "Broker names without a master. Producers cannot send to them.",
            "count(max by (namespace, cluster, node_id) (gantry_broker_is_master{<broker>}) == 0)"
            " or vector(0)",
            steps=ZERO_IS_GOOD,
        ),
        number(
            "Brokers that refuse writes",
            "Masters whose store takes no messages: the disk is full or failed, or too few"
            " replicas are in sync.",
            "sum(gantry_broker_refusing_writes{<broker>}) or vector(0)",
            steps=ZERO_IS_GOOD,
        ),
        number(
            "Name servers",
            "Name servers that are up. Without any, clients keep the routes that they know.",
            'count(gantry_namesrv_brokers{namespace=~"$namespace",job=~"$job"}) or vector(0)',
            steps=ONE_IS_GOOD,
        ),
        number(
            "Masters",
            "Brokers that are master.",
            "sum(gantry_broker_is_master{<broker>}) or vector(0)",
            steps=ONE_IS_GOOD,
        ),
        number(
            "Alerts that fire",
            "Rules of this chart that fire now.",
            'count(ALERTS{alertname=~"Gantry.+",alertstate="firing"}) or vector(0)',
            steps=((None, Colour.GOOD), (1, Colour.WARNING)),
        ),
    ),
)

_KEEPS_UP: Final = Row(
    "Is it keeping up?",
    (
        number(
            "Messages in",
            "Messages that producers send.",
            f"sum(rate({_IN}[<window>])) or vector(0)",
            unit="mps",
        ),
        number(
            "Messages out",
            "Messages that consumers are given.",
            f"sum(rate({_OUT}[<window>])) or vector(0)",
            unit="mps",
        ),
        number(
            "Oldest lag",
            "How old the oldest message is that a consumer group has not acknowledged.",
            f"max({_LAG_TIME}) or vector(0)",
            unit="ms",
            steps=limits(60_000, 300_000),
        ),
        number(
            "Groups offline with lag",
            "Consumer groups with messages to read, and without a consumer that is connected.",
            f"count(sum by (namespace, cluster, consumer_group) {_LAG_MESSAGES} > 0"
            " unless on (namespace, cluster, consumer_group) sum by (namespace, cluster,"
            " consumer_group) (rocketmq_consumer_connections{<broker>}) > 0) or vector(0)",
            steps=((None, Colour.GOOD), (1, Colour.WARNING)),
        ),
        number(
            "Put time, 99 of 100",
            "Within this time the broker answers 99 of 100 sends; the worst broker.",
            'max(gantry_broker_put_latency_seconds{<broker>,quantile="0.99"}) or vector(0)',
            unit="s",
            steps=limits(0.02, 0.05),
        ),
        number(
            "Refused to protect brokers",
            "Requests that brokers refuse because memory, the disk or a queue is short.",
            "sum(rate(gantry_broker_flow_control_total{<broker>}[<window>])) or vector(0)",
            unit="reqps",
            steps=((None, Colour.GOOD), (0.001, Colour.WARNING)),
        ),
    ),
)

_IS_SAFE: Final = Row(
    "Is the data safe?",
    (
        number(
            "Fewest copies in sync",
            "Members that have all acknowledged messages, of the broker name with the fewest. With"
            " 1, the next failure of a disk loses messages.",
            f"min(max by ({_SET}) (gantry_broker_in_sync_members{{<broker>}})"
            f" or 1 + sum by ({_SET}) (gantry_broker_slave_in_sync{{<broker>}})"
            f" or max by ({_SET}) (gantry_broker_is_master{{<broker>}}))",
        ),
        number(
            "Slaves out of sync",
            "Connected slaves that are too far behind to take over without loss.",
            "count(gantry_broker_slave_in_sync{<broker>} == 0) or vector(0)",
            steps=ZERO_IS_GOOD,
        ),
        number(
            "Furthest slave behind",
            "Bytes of the commit log that a slave lacks.",
            "max(gantry_broker_slave_behind_bytes{<broker>}) or vector(0)",
            unit="bytes",
            steps=limits(16 << 20, 64 << 20),
        ),
        number(
            "Not synced to disk",
            "Bytes of the commit log that a power cut would lose on this broker alone.",
            "max(rocketmq_storage_flush_behind_bytes{<broker>}) or vector(0)",
            unit="bytes",
        ),
        number(
            "Dead letters",
            "Messages that consumers gave up, in the last hour.",
            "sum(increase(rocketmq_send_to_dlq_messages_total{<broker>}[1h])) or vector(0)",
            steps=((None, Colour.GOOD), (1, Colour.WARNING)),
        ),
        number(
            "Failovers",
            "How often a member became master in the last day.",
            'sum(increase(gantry_broker_role_changes_total{<broker>,role="master"}[1d]))'
            " or vector(0)",
        ),
    ),
)

_BREAKS: Final = Row(
    "What is about to break?",
    (
        number(
            "Fullest disk",
            "Used part of the fullest file system with a commit log. At 75 % old files are deleted"
            " at any hour, at 90 % sends are refused, unless settings say otherwise.",
            "max(1 - gantry_broker_disk_free_bytes{<broker>}"
            " / gantry_broker_disk_size_bytes{<broker>}) or vector(0)",
            unit="percentunit",
            steps=limits(0.75, 0.85),
        ),
        number(
            "First disk full in",
            "The time until the first disk is full at the rate of the last 6 hours; 30 days where"
            " none fills. Deletion by age is not foreseen.",
            "min(gantry_broker_disk_free_bytes{<broker>}"
            " / clamp_min(-deriv(gantry_broker_disk_free_bytes{<broker>}[6h]), 1)"
            " < 2592000) or vector(2592000)",
            unit="s",
            steps=((None, Colour.BAD), (86_400, Colour.WARNING), (259_200, Colour.GOOD)),
        ),
        number(
            "Event loop lag",
            "The largest delay of the event loop of any process; above 100 ms clients notice.",
            "max(gantry_event_loop_lag_seconds{<process>}) or vector(0)",
            unit="s",
            steps=limits(0.05, 0.1),
        ),
        number(
            "Fullest memory account",
            "Used part of the memory for waiting requests. When it is full, a broker refuses more.",
            "max(gantry_broker_memory_bytes{<broker>}"
            " / gantry_broker_memory_limit_bytes{<broker>}) or vector(0)",
            unit="percentunit",
            steps=limits(0.7, 0.9),
        ),
        number(
            "Conflicts in groups",
            "Consumer groups whose members subscribe differently or share a client id: some"
            " messages reach no member.",
            "count(max by (namespace, cluster, consumer_group, kind)"
            " (gantry_broker_group_conflicts{<broker>}) > 0) or vector(0)",
            steps=ZERO_IS_GOOD,
        ),
        number(
            "Oldest open transaction",
            "Its producer neither commits it nor rolls it back.",
            "max(gantry_broker_oldest_half_message_seconds{<broker>}) or vector(0)",
            unit="s",
            steps=limits(300, 900),
        ),
    ),
)

_TRAFFIC: Final = Row(
    "Traffic",
    (
        graph(
            "Messages in",
            "Messages that producers send, by broker.",
            (
                f"sum by (node_id) (rate({_IN}[<window>]))",
                "{{node_id}}",
            ),
            unit="mps",
            is_stacked=True,
        ),
        graph(
            "Messages out",
            "Messages that consumers are given, by broker. Far above the messages in: several"
            " groups, or a group that reads old messages.",
            (
                f"sum by (node_id) (rate({_OUT}[<window>]))",
                "{{node_id}}",
            ),
            unit="mps",
            is_stacked=True,
        ),
        graph(
            "Lag",
            "Messages that wait for the ten groups with the largest lag.",
            (
                f"topk(10, sum by (consumer_group) {_LAG_MESSAGES})",
                "{{consumer_group}}",
            ),
        ),
    ),
)

_OVERVIEW: Final = Row(
    "Overview",
    (
        graph(
            "Masters",
            "Which process is master of each broker name. Two lines at 1 with one name: a failover"
            " is under way, or the old master is not scraped yet.",
            ("gantry_broker_is_master{<broker>} == 1", "{{node_id}} {{instance}}"),
        ),
        graph(
            "Refuses writes",
            "Masters whose store takes no messages.",
            ("gantry_broker_refusing_writes{<broker>}", "{{node_id}} {{instance}}"),
        ),
        graph(
            "Permission",
            "brokerPermission: 6 is read and write, 4 read alone.",
            ("rocketmq_broker_permission{<broker>}", "{{node_id}} {{instance}}"),
        ),
        graph(
            "Topics",
            "Topics of each broker, system topics included.",
            ("max by (node_id) (rocketmq_topic_number{<broker>})", "{{node_id}}"),
        ),
        graph(
            "Consumer groups",
            "Consumer groups of each broker, system groups included.",
            ("max by (node_id) (rocketmq_consumer_group_number{<broker>})", "{{node_id}}"),
        ),
    ),
)

_NAME_SERVERS: Final = Row(
    "Name servers",
    (
        graph(
            "Brokers",
            "Brokers that each name server knows. Lines that stay apart: a broker does not reach"
            " all name servers.",
            ("gantry_namesrv_brokers{<process>}", "{{instance}}"),
        ),
        graph(
            "Topics",
            "Topics with a route, by name server.",
            ("gantry_namesrv_topics{<process>}", "{{instance}}"),
        ),
        graph(
            "Registrations",
            "Registrations of brokers. Refused ones come from brokers of an older epoch.",
            (
                (
                    "sum by (instance, outcome) (rate(gantry_namesrv_registrations_total{<process>}"
                    "[<window>]))"
                ),
                "{{instance}} {{outcome}}",
            ),
            unit="reqps",
        ),
        graph(
            "Expired brokers",
            "Brokers that a name server removed because they were silent.",
            ("increase(gantry_namesrv_expired_brokers_total{<process>}[5m])", "{{instance}}"),
        ),
        graph(
            "Route misses",
            "Requests for topics without a route: a misspelt topic, or one that is not created.",
            ("rate(gantry_namesrv_route_misses_total{<process>}[<window>])", "{{instance}}"),
            unit="reqps",
        ),
        graph(
            "Requests by outcome",
            "Requests to name servers by code and response code.",
            (
                "sum by (code, outcome) (rate(gantry_namesrv_requests_total{<process>}[<window>]))",
                "{{code}} {{outcome}}",
            ),
            unit="reqps",
        ),
        graph(
            "Route cache",
            "Bytes of encoded routes that a name server keeps for the next request.",
            ("gantry_namesrv_answer_cache_bytes{<process>}", "{{instance}}"),
            unit="bytes",
        ),
    ),
)

DASHBOARD: Final = Dashboard(
    "overview",
    "Gantry: overview",
    "Is it up, is it keeping up, is the data safe, what is about to break?",
    (NAMESPACE, CLUSTER, BROKER, JOB, INSTANCE),
    (_IS_UP, _KEEPS_UP, _IS_SAFE, _BREAKS, _TRAFFIC, _OVERVIEW, _NAME_SERVERS),
)
