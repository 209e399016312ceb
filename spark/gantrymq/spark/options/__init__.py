"""The options of `format("rocketmq")`: one table for parsing, errors and documentation."""

from gantrymq.spark.options.errors import RocketMQOptionError

__all__ = ["RocketMQOptionError"]
