"""Reads the replication Secret: the fingerprints of its lines, and the progress of a rotation.

gantrymq.dev/rotate-secret    on the BrokerCluster: a text; a changed text requests a new secret
gantrymq.dev/rotation         on the Secret: the current request, or the last one
gantrymq.dev/rotation-step    on the Secret: the step that members have to follow; absent: none
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.plan.actions import Json, ObjectRef
from gantrymq.operator.plan.objects.fields import (
    annotation_of,
    label_of,
    list_at,
    ref_of,
    seconds_at,
    version_of,
)
from gantrymq.operator.plan.objects.kinds import SECRET
from gantrymq.operator.plan.objects.names import GROUP_LABEL
from gantrymq.operator.resources.cluster.cluster_status import RotationStep

REQUEST: Final = "gantrymq.dev/rotate-secret"
REQUEST_MAX: Final = 128
"""The most characters of a request, which is stored at the Secret and shown in the status."""
ROTATION: Final = "gantrymq.dev/rotation"
STEP: Final = "gantrymq.dev/rotation-step"
FINGERPRINTS: Final = "fingerprints"
"""The field of a Secret in a snapshot with the fingerprints of its lines."""
ENTRIES: Final = "entries"
"""The field of a Secret in a snapshot with the names of its entries."""
AUTHORITY: Final = "authority"
"""The field of a Secret in a snapshot with the certificate of its authority."""

CLOCKS_SECONDS: Final = 10
"""The most by which the clocks of two API servers may differ, when times of a Secret and of pods
are compared."""

_STEPS: Final = frozenset(each.value for each in RotationStep)
_LINES: Final = {
    RotationStep.NEW_ACCEPTED: 2,
    RotationStep.NEW_USED: 2,
    RotationStep.OLD_REMOVED: 1,
    RotationStep.DONE: 1,
}


@final
@dataclass(frozen=True, slots=True)
class ReplicationSecret:
    """The parts of the Secret that a plan needs. A snapshot does not contain its text."""

    ref: ObjectRef
    resource_version: str
    lines: tuple[str, ...]
    """Fingerprints, first that of the secret by which members make proofs."""
    request: str
    """The last request that was begun."""
    step: RotationStep
    is_changing: bool
    """Whether a rotation has begun and is not known to be done."""
    damage: str
    """Why the rotation cannot continue; empty if it can."""


def read_secret(content: Json) -> ReplicationSecret:
    """Read a Secret. Never raises."""
    lines = tuple(str(each) for each in list_at(content, FINGERPRINTS))
    text = annotation_of(content, STEP)
    step, damage = RotationStep.DONE, ""
    if text in _STEPS:
        step = RotationStep(text)
    elif text:
        damage = f"its annotation {STEP} is {text[:40]!r}, which is no step"
    if not damage and len(lines) != _LINES[step]:
        damage = (
            f"it has {len(lines)} lines, but must have {_LINES[step]} while {STEP} is"
            f" {text or 'absent'}: it was changed by hand"
        )
    ref = ref_of(content, *SECRET)
    request = annotation_of(content, ROTATION)
    return ReplicationSecret(ref, version_of(content), lines, request, step, bool(text), damage)


def request_of(resource: Json) -> str:
    """Return the newest request for a new secret; empty if there is none."""
    return annotation_of(resource, REQUEST).strip()


def is_of_interest(resource: Json, secret: Json | None, pods: Iterable[Json]) -> bool:
    """Whether a plan needs to know which secrets the members have: during a rotation, and while a
    member runs that is older than the Secret."""
    if secret is None:
        return False
    found = read_secret(secret)
    is_asked = request_of(resource) not in ("", found.request)
    brokers = [pod for pod in pods if label_of(pod, GROUP_LABEL)]
    return is_asked or found.is_changing or any(is_older(pod, secret) for pod in brokers)


def is_older(pod: Json | None, secret: Json | None) -> bool:
    """Whether a pod was certainly created before the Secret."""
    created = seconds_at(pod, "metadata", "creationTimestamp")
    made_at = seconds_at(secret, "metadata", "creationTimestamp")
    return created is not None and made_at is not None and created < made_at - CLOCKS_SECONDS
