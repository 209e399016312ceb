"""Queues as options name them: `broker-a:2`, or `broker-a/2` as they are shown."""

from __future__ import annotations

import re

from gantrymq.cli.frame.failures import UsageError
from gantrymq.wire.bodies.shared import MessageQueue


def queue_place(topic: str, text: str) -> MessageQueue:
    """Raises UsageError."""
    found = re.fullmatch(r"(.+)[:/](\d+)", text)
    if found is None:
        raise UsageError(f"--queue is BROKER:NUMBER, broker-a:2 say, not {text!r}")
    return MessageQueue(topic, found[1], int(found[2]))
