"""Validates the names of consumer groups by RocketMQ's rules."""

from __future__ import annotations

from typing import Final

from gantrymq.client.core.errors import StateError
from gantrymq.client.core.message.message import GROUP_CHARACTERS_MAX, name_fault

DEFAULT_CONSUMER: Final = "DEFAULT_CONSUMER"


def check_group(group: str) -> None:
    """Raise StateError if the name is not valid for a consumer group."""
    fault = name_fault("group", group, GROUP_CHARACTERS_MAX)
    if fault is not None:
        raise StateError(fault)
    if group == DEFAULT_CONSUMER:
        raise StateError(f"consumerGroup can not equal {DEFAULT_CONSUMER}, please specify another")
