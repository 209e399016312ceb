"""Reads and writes large amounts of messages over plain blocking sockets, for batch programs.

A batch program, such as a Spark executor, reads and writes known ranges of queues in its own
processes. It needs neither consumer groups nor listeners, and processes megabytes of messages at a
time.
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
