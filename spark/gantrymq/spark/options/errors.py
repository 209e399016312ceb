"""The error that a wrong option of `format("rocketmq")` raises."""

from __future__ import annotations

from typing import Self


class RocketMQOptionError(ValueError):
    """An option cannot be used; the text names the option, its value and what is allowed."""

    @classmethod
    def of(cls, name: str, value: object, allowed: str) -> Self:
        return cls(f"option {name}={value!r} cannot be used: give {allowed}")
