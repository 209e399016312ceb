"""Why a change of users or policies is not made."""

from __future__ import annotations

from typing import final

from gantrymq.base.errors import RemoteError


@final
class RefusedChangeError(RemoteError):
    """The text begins with RocketMQ's words, and is the remark of a NO_PERMISSION answer."""
