"""Decides what a request for a new replication secret writes, and how far it has come.

An annotation of the BrokerCluster asks for it, the operator carries it out (plan/rotation.py), and
`status.secretRotation` has the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from gantrymq.base.errors import GantryError
from gantrymq.operator.plan.objects.secret import REQUEST, request_of
from gantrymq.operator.resources.cluster.cluster_status import RotationStep

Json = dict[str, Any]

WORDS: Final = {
    RotationStep.NEW_ACCEPTED: "step 1 of 3: members accept the new secret as well",
    RotationStep.NEW_USED: "step 2 of 3: members use the new secret and accept the old one",
    RotationStep.OLD_REMOVED: "step 3 of 3: members know the new secret alone",
}


class RotationError(GantryError):
    """No new secret can be asked for; the text says why and what to do."""


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """How far the request has come, as the status says."""

    step: RotationStep | None
    """None before the first step."""
    waits: str
    """What it waits for; empty for nothing."""

    @property
    def is_done(self) -> bool:
        return self.step is RotationStep.DONE


def pending(cluster: Json) -> str:
    """The request that is not done yet; empty for none."""
    status = _rotation(cluster)
    asked, known = request_of(cluster), str(status.get("request", ""))
    if status.get("step", RotationStep.DONE) != RotationStep.DONE:
        return known
    return asked if asked != known else ""


def must_not_be_paused(cluster: Json) -> None:
    """RotationError where the operator would leave the request alone."""
    if (cluster.get("spec") or {}).get("paused"):
        name = cluster["metadata"]["name"]
        raise RotationError(
            f"{name} is paused, so the operator would change nothing; let it go on first: kubectl"
            f' patch bc {name} --type merge -p \'{{"spec":{{"paused":false}}}}\''
        )


def asking(cluster: Json, request: str) -> Json:
    """The change of the BrokerCluster that asks for a new secret."""
    version = cluster["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version, "annotations": {REQUEST: request}}}


def progress(cluster: Json, request: str) -> Progress:
    """How far this request has come."""
    status, steps = _rotation(cluster), {each.value: each for each in RotationStep}
    waits = [
        f"{each['what']}: {each['why']}"
        for each in (cluster.get("status") or {}).get("waits", [])
        if str(each["what"]).startswith("rotation of Secret")
    ]
    is_ours = status.get("request") == request
    return Progress(steps.get(status.get("step", "")) if is_ours else None, "; ".join(waits))


def _rotation(cluster: Json) -> Json:
    found: Json = (cluster.get("status") or {}).get("secretRotation") or {}
    return found
