"""Lists what the members of a group report: why one is not ready, and its master's problems.

A master writes its problems into the annotation gantrymq.dev/problems of the Lease: a Service that
does not lead to it, EndpointSlices that lead to other addresses, requests of the operator that it
ignores. They count while it is master.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gantrymq.operator.plan.status.obstacles import one_line
from gantrymq.operator.plan.view.members import Group

PROBLEMS_MAX: Final = 20
"""The most problems of a group. A master reports up to 16, and a group has at most five members."""

# Numbers that change while the cause stays. Without them an unchanged cause has an unchanged text.
_MOVING: Final = re.compile(r"\b\d+([.,]\d+)?(?= (bytes|s|ms)\b)")


def group_problems(group: Group, unready: Mapping[str, str]) -> tuple[str, ...]:
    """Return the problems as sentences. `unready` has the reason of each pod that is not ready."""
    found = [
        f"{member.pod_name} is not ready: {unready[member.pod_name]}"
        for member in group.members
        if member.pod_name in unready
    ]
    lease = group.lease
    if lease is not None and group.has_master:
        found += lease.problems
    elif lease is not None and lease.ignored:
        found.append(f"requests in Lease {lease.name} are ignored: {lease.ignored}")
    steady = (_MOVING.sub("...", one_line(each)) for each in found)
    return tuple(dict.fromkeys(steady))[:PROBLEMS_MAX]
