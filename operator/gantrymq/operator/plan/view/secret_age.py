"""Tells which groups run with a replication Secret that does not exist any more.

Members read the Secret when they start. A Secret that was deleted is made anew with another text,
so a member that restarts then cannot prove itself to members that have been running since before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.view.fields import seconds_at
from gantrymq.operator.plan.view.members import Group

CLOCKS_SECONDS: Final = 10
"""How far the clocks of two API servers may differ: a new Secret is older than its first pods."""


def groups_with_old_secret(groups: Sequence[Group], secret: Json | None) -> list[Group]:
    """Groups with a pod that was made before the Secret there is; a group of one needs none."""
    made_at = seconds_at(secret, "metadata", "creationTimestamp")
    if made_at is None:
        return []
    oldest = made_at - CLOCKS_SECONDS
    return [
        group
        for group in groups
        if len(group.members) > 1 and any(_is_older(each.pod, oldest) for each in group.members)
    ]


def _is_older(pod: Json | None, moment: float) -> bool:
    created = seconds_at(pod, "metadata", "creationTimestamp")
    return created is not None and created < moment
