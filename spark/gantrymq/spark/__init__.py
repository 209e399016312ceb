"""RocketMQ and Gantry topics in PySpark: the format `rocketmq`, its jobs and its metrics.

Spark finds the format itself (`spark.read.format("rocketmq")`); nothing here has to be imported for
that. `configure` sets the session settings that the format needs.
"""

from gantrymq.spark.session import configure

__all__ = ["configure"]
