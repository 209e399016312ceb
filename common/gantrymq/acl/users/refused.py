"""Defines the error for a change of users or policies that is refused."""

from __future__ import annotations

from typing import final

from gantrymq.base.errors import RemoteError


@final
class RefusedChangeError(RemoteError):
    """The text begins with RocketMQ's, and is the remark of a NO_PERMISSION response."""
