"""Names the changes of a spec that this version does not make. It makes all other changes."""

from __future__ import annotations

from collections.abc import Sequence

from gantrymq.operator.plan.objects.groups import GroupSize
from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec
from gantrymq.operator.resources.quantity import parse_quantity


def unsupported_changes(spec: BrokerClusterSpec, sizes: Sequence[GroupSize]) -> list[str]:
    """Return a sentence for each such change, and how to withdraw it; empty if there is none."""
    found: list[str] = []
    if spec.groups < len(sizes):
        found.append(
            f"spec.groups is {spec.groups}, and there are {len(sizes)}: groups are not removed yet"
            f" because their messages would be lost; set it back to {len(sizes)}"
        )
    for size in sizes:
        if size.members != spec.members_per_group:
            found.append(
                f"spec.membersPerGroup is {spec.members_per_group}, and {size.name} was created"
                f" with {size.members}: this cannot be changed yet; set it back to {size.members}"
            )
        if parse_quantity(size.storage_size) != parse_quantity(spec.storage.size):
            found.append(
                f"spec.storage.size is {spec.storage.size}, and the volumes of {size.name} were"
                f" created with {size.storage_size}: volumes are not enlarged yet. The API server"
                " does not let you set it back; to have larger volumes now, change the claims by"
                " hand where their StorageClass allows it"
            )
    return found
