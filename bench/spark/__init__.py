"""The format `rocketmq` beside Spark's own connector for Kafka, each with a real broker.

processes.py   CPU time and memory of a process with all that it started
brokers.py     Gantry and Kafka, with topics full of equal bodies
worker.py      a Spark session of its own for each side: orders in, figures out
sessions.py    the other end of the worker
measure.py     the rounds
"""
