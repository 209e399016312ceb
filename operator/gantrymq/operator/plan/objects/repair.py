"""What to do about one object: make it, change it, make it anew, wait, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from gantrymq.operator.plan.actions import Action, Apply, Delete, Json, Patch, Wait
from gantrymq.operator.plan.objects.drift import drift
from gantrymq.operator.plan.objects.kinds import SERVICE
from gantrymq.operator.plan.view.fields import (
    is_terminating,
    list_at,
    map_at,
    ref_of,
    text_at,
    uid_of,
    version_of,
)
from gantrymq.operator.plan.view.observed import Observed


@final
@dataclass(slots=True)
class Repairs:
    """Collects the actions and waits of one plan, in order."""

    observed: Observed
    actions: list[Action] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)

    def want(self, wanted: Json, why: str = "") -> bool:
        """Plan what makes the object as wanted; whether there is something to do. `why` is the
        reason where the resource asked for the change."""
        kind, name = (wanted["apiVersion"], wanted["kind"]), wanted["metadata"]["name"]
        found = self.observed.find(kind, name)
        what = f"{kind[1]} {name}"
        if found is None:
            self.actions.append(Apply(wanted, f"{what} does not exist"))
            return True
        if is_terminating(found):
            self.waits.append(Wait(what, "it is being deleted, and is made again afterwards"))
            return True
        unrepairable = _unrepairable(wanted, found)
        if unrepairable:
            ref = ref_of(found, *kind)
            reason = f"{what} is made anew: {unrepairable}"
            self.actions.append(Delete(ref, uid_of(found), reason))
            return True
        difference = drift(wanted, found)
        if difference is None:
            return False
        self.actions.append(Apply(wanted, why or f"{what}: {difference}", version_of(found)))
        return True

    def own(self, wanted: Json) -> None:
        """Plan labels and owner of an object that is there, and leave its content alone."""
        kind, metadata = (wanted["apiVersion"], wanted["kind"]), wanted["metadata"]
        found = self.observed.find(kind, metadata["name"])
        assert found is not None
        what = f"{kind[1]} {metadata['name']}"
        if is_terminating(found):
            self.waits.append(Wait(what, "it is being deleted, and is made again afterwards"))
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
        """Apply an object that is there, so that entries which are not wanted any more go."""
        found = self.observed.find(
            (wanted["apiVersion"], wanted["kind"]), wanted["metadata"]["name"]
        )
        assert found is not None
        self.actions.append(Apply(wanted, why, version_of(found)))


def _unrepairable(wanted: Json, found: Json) -> str:
    """Why applying would not do: additions of others stay in maps and lists that are merged, and
    a Service cannot change between headless and not."""
    if wanted["kind"] != SERVICE[1]:
        return ""
    selector = map_at(found, "spec", "selector").keys() - map_at(wanted, "spec", "selector").keys()
    if selector:
        return f"spec.selector has {', '.join(sorted(selector))}"
    ports = _ports(found) - _ports(wanted)
    if ports:
        return f"spec.ports has {', '.join(f'{name} {port}' for name, port in sorted(ports))}"
    is_headless = [text_at(each, "spec", "clusterIP") == "None" for each in (wanted, found)]
    if is_headless[0] != is_headless[1]:
        return f"spec.clusterIP is {text_at(found, 'spec', 'clusterIP')}"
    return ""


def _ports(service: Json) -> set[tuple[str, int]]:
    return {
        (text_at(port, "name"), int(port.get("port", 0)))
        for port in list_at(service, "spec", "ports")
    }
