"""RocketMQ and Gantry topics in PySpark: the format `rocketmq`, its jobs and its metrics.

Spark finds the format itself (`spark.read.format("rocketmq")`); nothing here has to be imported.
"""
