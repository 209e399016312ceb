"""Requests a new replication secret, and reads the progress of the rotation.

An annotation of the BrokerCluster requests it, the operator carries it out (plan/rotation.py), and
`status.secretRotation` shows the step.
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
    """A new secret cannot be requested; the text says why and what to do."""


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a request, from the status of the BrokerCluster."""

    step: RotationStep | None
    """None before the first step."""
    waits: str
    """What the rotation waits for; empty if it waits for nothing."""

    @property
    def is_done(self) -> bool:
        return self.step is RotationStep.DONE


def pending(cluster: Json) -> str:
    """Return the request that is not done yet; empty if there is none."""
    status = _rotation(cluster)
    asked, known = request_of(cluster), str(status.get("request", ""))
    if status.get("step", RotationStep.DONE) != RotationStep.DONE:
        return known
    return asked if asked != known else ""


def must_not_be_paused(cluster: Json) -> None:
    """Raise RotationError if the cluster is paused, because the operator ignores requests then."""
    if (cluster.get("spec") or {}).get("paused"):
        name = cluster["metadata"]["name"]
        raise RotationError(
            f"{name} is paused, so the operator changes nothing; resume it first: kubectl"
            f' patch bc {name} --type merge -p \'{{"spec":{{"paused":false}}}}\''
        )


def asking(cluster: Json, request: str) -> Json:
    """Return the change of the BrokerCluster that requests a new secret."""
    version = cluster["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version, "annotations": {REQUEST: request}}}


def progress(cluster: Json, request: str) -> Progress:
    """Return the progress of this request."""
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
