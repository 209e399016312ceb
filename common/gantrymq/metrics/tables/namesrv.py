"""Defines the metrics of a name server."""

from __future__ import annotations

from typing import Final

from gantrymq.metrics.family import Table

TABLE: Final = Table("name server", "Name server")

REQUESTS: Final = TABLE.counter(
    "gantry_namesrv_requests_total",
    "Requests by code and response code",
    ("code", "outcome"),
    panel="Name servers: Requests by outcome",
)
AUTHENTICATION_FAILURES: Final = TABLE.counter(
    "gantry_namesrv_authentication_failures_total",
    "Requests whose sender did not prove its account, by how: unsigned, unknown_account,"
    " wrong_signature, throttled",
    ("failure",),
    unit="requests",
)
QUOTA_DELAYS: Final = TABLE.counter(
    "gantry_namesrv_quota_delays_total",
    "Waits of connections whose address has used up maxRequestsPerSecondPerAddress",
    unit="waits",
)
QUOTA_DELAY_SECONDS: Final = TABLE.counter(
    "gantry_namesrv_quota_delay_seconds_total",
    "Seconds that connections waited because their address has used up its requests",
    unit="seconds",
)
QUOTA_REFUSALS: Final = TABLE.counter(
    "gantry_namesrv_quota_refusals_total",
    "Requests that were refused because their address has used up its requests",
    unit="requests",
)
REGISTRATIONS: Final = TABLE.counter(
    "gantry_namesrv_registrations_total",
    "Registrations of brokers, by outcome: applied, unchanged, refused",
    ("outcome",),
    panel="Name servers: Registrations",
    alert="GantryNameServerRefuses",
)
ROUTE_MISSES: Final = TABLE.counter(
    "gantry_namesrv_route_misses_total",
    "Requests for topics without a route",
    panel="Name servers: Route misses",
)
EXPIRED_BROKERS: Final = TABLE.counter(
    "gantry_namesrv_expired_brokers_total",
    "Brokers removed because they were silent for too long",
    panel="Name servers: Expired brokers",
    alert="GantryBrokerExpired",
)
BROKERS: Final = TABLE.gauge(
    "gantry_namesrv_brokers",
    "Registered brokers, masters and slaves",
    panel="Name servers: Brokers",
    alert="GantryNameServersDisagree",
)
BROKER_NAMES: Final = TABLE.gauge("gantry_namesrv_broker_names", "Broker names")
CLUSTERS: Final = TABLE.gauge("gantry_namesrv_clusters", "Clusters")
TOPICS: Final = TABLE.gauge(
    "gantry_namesrv_topics",
    "Topics with a route",
    panel="Name servers: Topics",
    alert="GantryNameServersDisagree",
)
ANSWER_CACHE: Final = TABLE.gauge(
    "gantry_namesrv_answer_cache_bytes",
    "Encoded routes kept for the next request",
    unit="bytes",
    panel="Name servers: Route cache",
)
