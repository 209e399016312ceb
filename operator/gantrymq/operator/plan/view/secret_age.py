"""Tells which groups have members that know another replication secret than the Secret there is.

A Secret that was deleted is made anew with another text. A member that runs reads it when the
kubelet has brought it to its pod; until all have, a member that restarts cannot prove itself to
those that have not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.secret import is_older, read_secret
from gantrymq.operator.plan.view.members import Group, Member


def groups_with_old_secret(
    groups: Sequence[Group], secret: Json | None, known: Mapping[str, tuple[str, ...]]
) -> list[Group]:
    """Groups with a pod that was made before the Secret there is, and does not say that it has read
    this one; a group of one needs none. `known` are the secrets that members say they have."""
    if secret is None:
        return []
    lines = read_secret(secret).lines

    def has_another(member: Member) -> bool:
        return is_older(member.pod, secret) and known.get(member.pod_name) != lines

    return [
        group for group in groups if len(group.members) > 1 and any(map(has_another, group.members))
    ]
