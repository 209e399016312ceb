"""Defines the metrics of every server process: its event loop, pages and connections."""

from __future__ import annotations

from typing import Final

from gantrymq.metrics.family import Table

TABLE: Final = Table("process", "Every server process")

LOOP_LAG: Final = TABLE.gauge(
    "gantry_event_loop_lag_seconds",
    "Largest delay of the event loop's timers since the last scrape",
    unit="seconds",
    panel="Resources: Event loop lag",
    alert="GantryLoopLag",
)
LOOP_STALLS: Final = TABLE.counter(
    "gantry_event_loop_stalls_total",
    "Pieces of work that held the event loop for 50 ms or more, by request or other work",
    ("work",),
)
LOOP_STALL_SECONDS: Final = TABLE.counter(
    "gantry_event_loop_stall_seconds_total",
    "Time of the pieces of work that held the event loop for 50 ms or more",
    ("work",),
    unit="seconds",
)
DROPPED_SERIES: Final = TABLE.gauge(
    "gantry_metrics_dropped_series",
    "Series that the last page left out, because their metric has more than the limit allows",
    ("metric",),
    panel="Resources: Series left out",
    alert="GantrySeriesDropped",
)
SCRAPE_SECONDS: Final = TABLE.gauge(
    "gantry_metrics_page_seconds",
    "Time that it took to make the previous page, pauses included",
    unit="seconds",
    panel="Resources: Scrape time",
)
SCRAPE_SLICE: Final = TABLE.gauge(
    "gantry_metrics_longest_slice_seconds",
    "Longest time for which the previous page held the event loop without a pause",
    unit="seconds",
    panel="Resources: Scrape time",
)

AUDIT_ENTRIES: Final = TABLE.counter(
    "gantry_audit_entries_total",
    "Entries of auditLogFile, by outcome: written, or lost because the disk did not take them",
    ("outcome",),
    unit="entries",
)

# ---------------------------------------------------------------- connections

REMOTING_REQUESTS: Final = TABLE.counter(
    "gantry_remoting_requests_total", "Requests received", panel="Requests: Requests"
)
UNMATCHED_RESPONSES: Final = TABLE.counter(
    "gantry_remoting_unmatched_responses_total", "Responses that match no open request"
)
RECEIVED: Final = TABLE.counter(
    "gantry_remoting_received_bytes_total",
    "Bytes received, TLS included",
    unit="bytes",
    panel="Resources: Network",
)
SENT: Final = TABLE.counter(
    "gantry_remoting_sent_bytes_total",
    "Bytes sent, TLS included",
    unit="bytes",
    panel="Resources: Network",
)
HELD: Final = TABLE.gauge(
    "gantry_remoting_held_bytes",
    "Memory of incomplete frames and handshakes, of unsent output and of TLS",
    unit="bytes",
    panel="Resources: Memory accounts",
)
CONNECTIONS: Final = TABLE.gauge(
    "gantry_remoting_connections",
    "Open connections",
    ("listener",),
    panel="Clients: Connections",
)
CLOSED_CONNECTIONS: Final = TABLE.counter(
    "gantry_remoting_closed_connections_total",
    "Connections that ended",
    ("listener", "reason"),
    panel="Clients: Closed connections",
)
CERTIFICATE_EXPIRES: Final = TABLE.gauge(
    "gantry_tls_certificate_expires_timestamp_seconds",
    "When the first certificate in tls.server.certPath expires",
    unit="seconds",
    panel="Resources: Certificate expires",
    alert="GantryCertificateExpires",
)
