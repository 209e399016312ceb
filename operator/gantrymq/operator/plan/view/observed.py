"""Finds the observed objects of a cluster by kind and name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import is_terminating, label_of, name_of, text_at
from gantrymq.operator.plan.objects.kinds import CONFIG_MAP, SERVICE, STATEFUL_SET
from gantrymq.operator.plan.objects.names import GROUP_LABEL


@final
class Observed:
    """The observed objects of one cluster. An object that it does not find does not exist."""

    __slots__ = ("_objects",)

    def __init__(self, objects: Mapping[str, tuple[Json, ...]]) -> None:
        self._objects = {
            (kind, name_of(each)): each for kind, items in objects.items() for each in items
        }

    def find(self, kind: tuple[str, str], name: str) -> Json | None:
        return self._objects.get((kind[1], name))

    def stateful_set(self, name: str) -> Json | None:
        return self.find(STATEFUL_SET, name)

    def config_map(self, name: str) -> Json | None:
        return self.find(CONFIG_MAP, name)

    def stateful_sets(self) -> list[Json]:
        kind = STATEFUL_SET[1]
        return [each for (found, _), each in self._objects.items() if found == kind]

    def group_stateful_sets(self) -> dict[str, Json]:
        """Return the StatefulSets of groups, by the name of the group."""
        found = ((label_of(each, GROUP_LABEL), each) for each in self.stateful_sets())
        return {group: each for group, each in found if group}

    def address(self, service: str) -> str:
        """Return the clusterIP of a Service; empty while it has none."""
        found = self.find(SERVICE, service)
        if found is None or is_terminating(found):
            return ""
        address = text_at(found, "spec", "clusterIP")
        return "" if address == "None" else address
