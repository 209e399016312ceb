"""Plans the rotation of the replication secret, in steps that all members follow.

    step          the file           begins when
    NewAccepted   old, new           a request exists, and all members have the old secret alone
    NewUsed       new, old           all members have the file of the step before
    OldRemoved    new                the same
    Done          new                the same

A member makes proofs with the first line and accepts proofs of both, so members that are one step
apart accept each other. Invariant: a step begins only after each member of each group has reported
the file of the step before; a member that does not answer delays the rotation. A step is one write
of one object, with the version that the plan saw, so an interruption leaves one step or the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.plan.actions import ChangeSecret, Json, Wait
from gantrymq.operator.plan.objects.fields import is_terminating
from gantrymq.operator.plan.objects.names import BROKER_METRICS_PORT
from gantrymq.operator.plan.objects.secret import (
    REQUEST,
    REQUEST_MAX,
    ROTATION,
    STEP,
    ReplicationSecret,
    read_secret,
    request_of,
)
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.plan.view.members import Group
from gantrymq.operator.resources.cluster.cluster_status import (
    ROTATION_PODS_SHOWN_MAX,
    RotationStep,
    SecretRotation,
)

_NEXT: Final = {
    RotationStep.DONE: RotationStep.NEW_ACCEPTED,
    RotationStep.NEW_ACCEPTED: RotationStep.NEW_USED,
    RotationStep.NEW_USED: RotationStep.OLD_REMOVED,
    RotationStep.OLD_REMOVED: RotationStep.DONE,
}
_WORDS: Final = {
    RotationStep.DONE: "the old secret is removed at all members",
    RotationStep.NEW_ACCEPTED: "step 1 of 3, members accept the new secret as well",
    RotationStep.NEW_USED: "step 2 of 3, members use the new secret and accept the old one",
    RotationStep.OLD_REMOVED: "step 3 of 3, members know the new secret alone",
}
_BEFORE: Final = "before the first step"
_NOT_ASKED: Final = (
    "the members were not asked for this plan; kubectl gantry status shows what the operator waits"
    " for"
)
_REPAIR: Final = (
    f"write the secret that all members have as the only line of `secret`, and remove {STEP}"
)


@final
@dataclass(frozen=True, slots=True)
class Rotation:
    """The change of the Secret of now, what waits, and the rotation's status."""

    actions: tuple[ChangeSecret, ...] = ()
    waits: tuple[Wait, ...] = ()
    status: SecretRotation | None = None


def rotate(snapshot: ClusterSnapshot, content: Json | None, groups: Sequence[Group]) -> Rotation:
    """Plan the next step of a requested rotation. `content` is the existing Secret."""
    request, known = request_of(snapshot.resource), snapshot.known_secrets
    if content is None or is_terminating(content):
        return Rotation()
    secret = read_secret(content)
    if request in ("", secret.request) and not secret.is_changing:
        return Rotation(status=_status(secret, []))
    what = f"rotation of Secret {secret.ref.name}"
    obstacle = _obstacle(secret, request, snapshot.new_secret)
    if obstacle:
        return Rotation(waits=(Wait(what, obstacle),), status=_status(secret, []))
    if known is None:
        return Rotation(waits=(Wait(what, f"{_phase(secret)}: {_NOT_ASKED}"),))
    others = _with_others(groups, secret.lines, known)
    if others:
        why = f"{_phase(secret)}: {_unread(others, known)}"
        return Rotation(waits=(Wait(what, why),), status=_status(secret, others))
    return Rotation((_change(secret, request, snapshot.new_secret),), status=_status(secret, []))


def _obstacle(secret: ReplicationSecret, request: str, new_secret: str) -> str:
    """Return what waiting does not solve; empty if there is nothing."""
    if secret.damage:
        return f"{secret.damage}; {_REPAIR}"
    if secret.step is RotationStep.DONE and len(request) > REQUEST_MAX:
        return (
            f"the annotation {REQUEST} has {len(request)} characters, but may have {REQUEST_MAX}"
            " at most: write a date, or any other short text that it did not have before"
        )
    return "" if new_secret else "the snapshot has no random text for it"


def _with_others(
    groups: Sequence[Group], lines: tuple[str, ...], known: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """Return the pods of members that did not report these secrets."""
    return [
        member.pod_name
        for group in groups
        for member in group.members
        if member.is_leaving or known.get(member.pod_name) != lines
    ]


def _change(secret: ReplicationSecret, request: str, new_secret: str) -> ChangeSecret:
    """Return the write that begins the next step."""
    step, kept, added = _NEXT[secret.step], secret.lines, ""
    annotations: dict[str, str | None] = {STEP: step.value}
    if step is RotationStep.NEW_ACCEPTED:
        added = new_secret
        annotations[ROTATION] = request
    elif step is RotationStep.NEW_USED:
        kept = secret.lines[::-1]
    elif step is RotationStep.OLD_REMOVED:
        kept = secret.lines[:1]
    else:
        annotations[STEP] = None
    return ChangeSecret(
        secret.ref,
        secret.resource_version,
        kept,
        annotations,
        f"Secret {secret.ref.name}: {_WORDS[step]}",
        added,
    )


def _phase(secret: ReplicationSecret) -> str:
    return _BEFORE if secret.step is RotationStep.DONE else _WORDS[secret.step]


def _unread(others: Sequence[str], known: Mapping[str, tuple[str, ...]]) -> str:
    """Return why a step is not finished."""
    silent = [pod for pod in others if pod not in known]
    behind = [pod for pod in others if pod in known]
    found = []
    if behind:
        found.append(f"not read yet by {_names(behind)}; a kubelet takes a minute or two")
    if silent:
        found.append(
            f"no answer from {_names(silent)} at port {BROKER_METRICS_PORT}: it does not run, its"
            " image is older than this operator, or a network policy keeps the operator out"
        )
    return "; ".join(found)


def _names(pods: Sequence[str]) -> str:
    more = len(pods) - ROTATION_PODS_SHOWN_MAX
    shown = ", ".join(pods[:ROTATION_PODS_SHOWN_MAX])
    return f"{shown} and {more} more" if more > 0 else shown


def _status(secret: ReplicationSecret, others: Sequence[str]) -> SecretRotation | None:
    if not secret.request and not others:
        return None
    return SecretRotation(secret.request, secret.step, tuple(others[:ROTATION_PODS_SHOWN_MAX]))
