"""Actions of a plan: what the executor is asked to do, with precondition and reason.

An action is idempotent. Its precondition is checked by the API server (resourceVersion or uid), so
a plan made from a stale snapshot is refused instead of carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

Json: TypeAlias = dict[str, Any]  # an object of the Kubernetes API, as JSON


@final
@dataclass(frozen=True, slots=True)
class ObjectRef:
    """Names one object of the API."""

    api_version: str
    kind: str
    namespace: str
    name: str


@final
@dataclass(frozen=True, slots=True)
class Apply:
    """Create or change an owned object by server-side apply."""

    body: Json
    reason: str
    resource_version: str = ""
    """Of the object the plan saw; empty when it must not exist yet."""

    @property
    def ref(self) -> ObjectRef:
        metadata, body = self.body["metadata"], self.body
        namespace = metadata.get("namespace", "")
        return ObjectRef(body["apiVersion"], body["kind"], namespace, metadata["name"])


@final
@dataclass(frozen=True, slots=True)
class Patch:
    """Change fields of an object by a merge patch: lists are replaced, null removes a field. For
    what applying cannot do: it never removes what another field manager has set."""

    ref: ObjectRef
    resource_version: str
    changes: Json
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object, if it is still the one the plan saw."""

    ref: ObjectRef
    uid: str
    reason: str
    is_disruptive: bool = False
    """Whether it takes a running member away, or an address in use."""


@final
@dataclass(frozen=True, slots=True)
class AnnotateLease:
    """Set annotations on a group's Lease; the members act on them."""

    ref: ObjectRef
    resource_version: str
    annotations: Mapping[str, str]
    reason: str
    is_disruptive: bool = False
    """Whether it moves the mastership."""
    expected: Mapping[str, str] = field(default_factory=dict)
    """What the plan relied on, as `plan.view.lease.grounds` tells it. Where it is given it is the
    precondition instead of the version, which each renewal changes."""


@final
@dataclass(frozen=True, slots=True)
class ChangeSecret:
    """Replace the lines of the replication Secret, whose text no plan contains."""

    ref: ObjectRef
    resource_version: str
    kept: tuple[str, ...]
    """Fingerprints of lines that are there, in their new order."""
    annotations: Mapping[str, str | None]
    """None removes one."""
    reason: str
    added: str = field(default="", repr=False)
    """A new secret, which becomes the last line; empty for none."""


@final
@dataclass(frozen=True, slots=True)
class SetFinalizers:
    """Replace the finalizers of the resource itself."""

    ref: ObjectRef
    resource_version: str
    finalizers: tuple[str, ...]
    reason: str


Action: TypeAlias = Apply | Patch | Delete | AnnotateLease | ChangeSecret | SetFinalizers


@final
@dataclass(frozen=True, slots=True)
class Wait:
    """Why something that is wanted is not done now."""

    what: str
    why: str


@final
@dataclass(frozen=True, slots=True)
class EventNote:
    """A Kubernetes Event to publish on the resource; the publisher drops repeats."""

    type: str
    """Normal or Warning."""
    reason: str
    """CamelCase, from the table of conditions and events."""
    message: str


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now, what waits and why, and what the status says."""

    actions: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()
    events: tuple[EventNote, ...] = ()
    status: Json = field(default_factory=dict)
    """The whole `status` of the resource; empty when the resource is let go."""
    requeue_seconds: float | None = None
    """When to look again without an event; None: the safety interval."""
