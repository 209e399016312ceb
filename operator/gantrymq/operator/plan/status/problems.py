"""Lists what the members of a group report: why one is not ready, and what its master met.

A master writes its problems into the annotation gantrymq.dev/problems of the Lease: a Service that
does not lead to it, slices that lead elsewhere, wishes that it left out. They count while it leads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gantrymq.operator.plan.status.obstacles import one_line
from gantrymq.operator.plan.view.members import Group

PROBLEMS_MAX: Final = 20
"""Of a group. A master reports up to 16, and a group has five members at most."""

# Figures that move while the cause stays: an unchanged cause gives an unchanged text.
_MOVING: Final = re.compile(r"\b\d+([.,]\d+)?(?= (bytes|s|ms)\b)")


def group_problems(group: Group, unready: Mapping[str, str]) -> tuple[str, ...]:
    """In sentences; `unready` has the reasons of pods that are not ready, by the pod's name."""
    found = [
        f"{member.pod_name} is not ready: {unready[member.pod_name]}"
        for member in group.members
        if member.pod_name in unready
    ]
    lease = group.lease
    if lease is not None and group.has_master:
        found += lease.problems
    elif lease is not None and lease.ignored:
        found.append(f"wishes in Lease {lease.name} are left out: {lease.ignored}")
    steady = (_MOVING.sub("...", one_line(each)) for each in found)
    return tuple(dict.fromkeys(steady))[:PROBLEMS_MAX]
