"""Serves a page with every metric, for queries that no small cluster can answer.

Labels have values as the components give them, counters grow by the second, and gauges are 1.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from types import TracebackType
from typing import Final, Self, final

from gantrymq.metrics.catalogue import families
from gantrymq.metrics.family import Family, Kind, Table

# Labels with more than one value, or one that queries select by.
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "is_system": ("false", "true"),
    "is_retry": ("false",),
    "is_long_polling": ("false", "true"),
    "quantile": ("0.5", "0.99"),
    "role": ("master", "slave"),
    "request_code": ("send_message_v2", "pull_message"),
}
OUTCOMES: Final[Mapping[str, tuple[str, ...]]] = {
    "gantry_broker_timer_messages_total": ("delivered", "lost"),
    "gantry_namesrv_registrations_total": ("applied", "refused"),
    "gantry_operator_reconciles_total": ("done", "refused"),
}
STANDARD: Final = {
    "process_cpu_seconds_total": "counter",
    "process_resident_memory_bytes": "gauge",
}


def page(now: float, began: float) -> str:
    """The text of the page at this moment."""
    lines: list[str] = []
    for table, family in families():
        if table.path == "/metrics":
            lines += _family(table, family, now, now - began)
    for name, kind in STANDARD.items():
        lines += [f"# TYPE {name} {kind}", f"{name} {now - began}"]
    return "\n".join(lines) + "\n"


def _family(table: Table, family: Family, now: float, seconds: float) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind.value}"
    for labels in _label_sets(table, family):
        if family.kind is Kind.HISTOGRAM:
            yield from _histogram(family, labels, seconds)
        else:
            yield f"{family.name}{{{labels}}} {_value(family, now, seconds)}"


def _label_sets(table: Table, family: Family) -> Iterator[str]:
    names = [*table.base_labels, *family.labels]
    values = [_values(family, name) for name in names]
    for chosen in product(*values):
        yield ",".join(f'{name}="{value}"' for name, value in zip(names, chosen, strict=True))


def _values(family: Family, label: str) -> tuple[str, ...]:
    if label == "outcome" and family.name in OUTCOMES:
        return OUTCOMES[family.name]
    return VALUES.get(label, (f"some-{label}",))


def _value(family: Family, now: float, seconds: float) -> float:
    if family.name.endswith("_timestamp_seconds"):
        return now - 1
    return seconds if family.kind is Kind.COUNTER else 1.0


def _histogram(family: Family, labels: str, seconds: float) -> Iterator[str]:
    comma = "," if labels else ""
    for bound in (*map(str, family.buckets), "+Inf"):
        yield f'{family.name}_bucket{{{labels}{comma}le="{bound}"}} {seconds}'
    yield f"{family.name}_sum{{{labels}}} {seconds}"
    yield f"{family.name}_count{{{labels}}} {seconds}"


@final
class SamplePage:
    """Serves the page on a free port of loopback."""

    def __init__(self) -> None:
        began = time.time()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = page(time.time(), began - 100.0).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                """Log nothing: each scrape would be a line."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="sample page")
        self.address = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
