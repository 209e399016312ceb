"""Measures the format `rocketmq` and Spark's own connector for Kafka, each with a real broker.

processes.py   CPU time and memory of a process with all its children
brokers.py     Gantry and Kafka, with topics full of equal bodies
worker.py      a Spark session of its own for each side, with orders and results as JSON
sessions.py    the process that drives the worker
measure.py     the rounds
"""
