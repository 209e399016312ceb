"""Exports metrics of streaming queries on RocketMQ topics to Prometheus.

from gantrymq.spark.metrics import serve

endpoint = serve(spark, port=9990)      # before the queries start; endpoint.stop() ends it
"""

from gantrymq.spark.metrics.endpoint import MetricsEndpoint, serve

__all__ = ["MetricsEndpoint", "serve"]
