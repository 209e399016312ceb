"""Serves the metrics of a session's streaming queries over HTTP."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Final, final
from wsgiref.simple_server import WSGIServer

from prometheus_client.exposition import start_http_server
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from gantrymq.spark.metrics.listener import MetricsListener
from gantrymq.spark.metrics.queries import StreamingQueries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PORT: Final = 9990  # next to Spark's own 4040 and RocketMQ's 9876, 10909 to 10912: taken by none


@final
class MetricsEndpoint:
    """The listener of one session, and the HTTP server that serves its metrics."""

    def __init__(
        self, spark: SparkSession, listener: MetricsListener, server: WSGIServer, thread: Thread
    ) -> None:
        self._spark = spark
        self._listener = listener
        self._server = server
        self._thread = thread

    @property
    def port(self) -> int:
        """The port, which the system has chosen if 0 was given."""
        return self._server.server_port

    def stop(self) -> None:
        """Stop the server and the listener. The session continues."""
        self._spark.streams.removeListener(self._listener)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def serve(spark: SparkSession, port: int = PORT, address: str = "0.0.0.0") -> MetricsEndpoint:
    """Serve metrics of the queries that start from now on, at `http://<address>:<port>/metrics`.

    Port 0 selects a free one. Raises OSError if the port is in use.
    """
    queries = StreamingQueries()
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    registry.register(queries)
    server, thread = start_http_server(port, address, registry)
    listener = MetricsListener(queries)
    spark.streams.addListener(listener)
    return MetricsEndpoint(spark, listener, server, thread)
