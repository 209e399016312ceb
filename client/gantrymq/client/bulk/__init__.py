"""Reads and writes large amounts of messages over plain blocking sockets, for batch programs.

A batch program works off known ranges of queues in processes of its own, as Spark's executors do:
it needs neither groups nor listeners, and its unit is a megabyte of messages, not a message.
"""

from gantrymq.client.bulk.errors import OffsetGoneError, QueueTruncatedError
from gantrymq.client.bulk.puller import BulkPuller
from gantrymq.client.bulk.settings import BulkSettings
from gantrymq.wire.bodies.shared import MessageQueue as QueueRef

OffsetGone = OffsetGoneError
QueueTruncated = QueueTruncatedError

__all__ = [
    "BulkPuller",
    "BulkSettings",
    "OffsetGone",
    "OffsetGoneError",
    "QueueRef",
    "QueueTruncated",
    "QueueTruncatedError",
]
