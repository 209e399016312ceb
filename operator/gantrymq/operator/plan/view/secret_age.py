"""Finds groups with members that still use a replication secret before the current one.

A deleted Secret is created again with another text. A running member reads it after the kubelet has
updated the file in its pod. Until then, members that restart cannot authenticate to this member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.secret import is_older, read_secret
from gantrymq.operator.plan.view.members import Group, Member


def groups_with_old_secret(
    groups: Sequence[Group], secret: Json | None, known: Mapping[str, tuple[str, ...]]
) -> list[Group]:
    """Return the groups with a pod that is older than the Secret and does not report its secret. A
    group of one member needs no secret. `known` has the secrets that members report."""
    if secret is None:
        return []
    lines = read_secret(secret).lines

    def has_another(member: Member) -> bool:
        return is_older(member.pod, secret) and known.get(member.pod_name) != lines

    return [
        group for group in groups if len(group.members) > 1 and any(map(has_another, group.members))
    ]
