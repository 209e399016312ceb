"""Plans how one object becomes as wanted: create it, change it, recreate it, or wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from gantrymq.operator.plan.actions import Action, Apply, Delete, Json, Patch, Wait
from gantrymq.operator.plan.objects import service_repair
from gantrymq.operator.plan.objects.drift import drift
from gantrymq.operator.plan.objects.fields import (
    is_terminating,
    list_at,
    ref_of,
    text_at,
    uid_of,
    version_of,
)
from gantrymq.operator.plan.objects.kinds import SERVICE
from gantrymq.operator.plan.view.observed import Observed


@final
@dataclass(slots=True)
class Repairs:
    """Collects the actions and waits of one plan, in order."""

    observed: Observed
    now: float
    actions: list[Action] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    remakes: list[Delete] = field(default_factory=list)
    """Deletions of Services that cannot be changed in place, for a time without other actions."""

    def want(self, wanted: Json, why: str = "") -> bool:
        """Plan what the object needs to become as wanted; return whether it needs anything. `why`
        is the reason if the resource asked for the change."""
        kind, name = (wanted["apiVersion"], wanted["kind"]), wanted["metadata"]["name"]
        found = self.observed.find(kind, name)
        what = f"{kind[1]} {name}"
        if found is None:
            self.actions.append(Apply(wanted, f"{what} does not exist"))
            return True
        if is_terminating(found):
            self.waits.append(Wait(what, "it is being deleted, and is created again afterwards"))
            return True
        if wanted["kind"] == SERVICE[1] and self._repair_service(wanted, found):
            return True
        difference = drift(wanted, found)
        if difference is None:
            return False
        self.actions.append(Apply(wanted, why or f"{what}: {difference}", version_of(found)))
        return True

    def _repair_service(self, wanted: Json, found: Json) -> bool:
        """Plan the changes of a Service that applying would not make; return whether there are
        any."""
        ref = ref_of(found, *SERVICE)
        what = f"Service {ref.name}"
        obstacle = service_repair.immutable(wanted, found)
        if obstacle:
            reason = f"{what} is created again: {obstacle}"
            self.remakes.append(Delete(ref, uid_of(found), reason, is_disruptive=True))
            return True
        if service_repair.is_detaching(wanted, found, self.now):
            self.waits.append(Wait(what, "Kubernetes removes the endpoints of its former selector"))
            return True
        changes, reason = service_repair.changes(wanted, found, self.now)
        if changes:
            patch = Patch(ref, version_of(found), {"spec": changes}, f"{what}: {reason}")
            self.actions.append(patch)
        return bool(changes)

    def own(self, wanted: Json) -> None:
        """Plan labels and owner of an existing object, and do not change its content."""
        kind, metadata = (wanted["apiVersion"], wanted["kind"]), wanted["metadata"]
        found = self.observed.find(kind, metadata["name"])
        assert found is not None
        what = f"{kind[1]} {metadata['name']}"
        if is_terminating(found):
            self.waits.append(Wait(what, "it is being deleted, and is created again afterwards"))
            return
        difference = drift({"metadata": metadata}, found)
        if difference is None:
            return
        [owner] = metadata["ownerReferences"]
        foreign = [
            each
            for each in list_at(found, "metadata", "ownerReferences")
            if text_at(each, "kind") != owner["kind"]
        ]
        kept = {"labels": metadata["labels"], "ownerReferences": [*foreign, owner]}
        reason = f"{what}: {difference}"
        self.actions.append(
            Patch(ref_of(found, *kind), version_of(found), {"metadata": kept}, reason)
        )

    def replace(self, wanted: Json, why: str) -> None:
        """Apply an existing object again, which removes entries that are not wanted any more."""
        found = self.observed.find(
            (wanted["apiVersion"], wanted["kind"]), wanted["metadata"]["name"]
        )
        assert found is not None
        self.actions.append(Apply(wanted, why, version_of(found)))
