"""Parses the value of --queue: `broker-a:2`, or `broker-a/2` as `gantry consume` prints queues."""

from __future__ import annotations

import re

from gantrymq.cli.frame.failures import UsageError
from gantrymq.wire.bodies.shared import MessageQueue


def queue_option(topic: str, text: str) -> MessageQueue:
    """Return the queue. Raises UsageError."""
    found = re.fullmatch(r"(.+)[:/](\d+)", text)
    if found is None:
        raise UsageError(f"--queue must be BROKER:NUMBER, such as broker-a:2, not {text!r}")
    return MessageQueue(topic, found[1], int(found[2]))
