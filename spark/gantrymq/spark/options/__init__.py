"""The options of `format("rocketmq")`: one table, from which parsing, errors and docs are made."""

from gantrymq.spark.options.errors import RocketMQOptionError

__all__ = ["RocketMQOptionError"]
