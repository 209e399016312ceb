"""Defines the actions of a plan, which the executor carries out, with precondition and reason.

An action is idempotent. The API server checks its precondition (resourceVersion or uid), so it
refuses a plan that was made from a stale snapshot.
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
    """The version that the plan saw; empty if the object must not exist yet."""

    @property
    def ref(self) -> ObjectRef:
        metadata, body = self.body["metadata"], self.body
        namespace = metadata.get("namespace", "")
        return ObjectRef(body["apiVersion"], body["kind"], namespace, metadata["name"])


@final
@dataclass(frozen=True, slots=True)
class Patch:
    """Change fields of an object by a merge patch: lists are replaced, null removes a field. Needed
    because applying never removes what another field manager has set."""

    ref: ObjectRef
    resource_version: str
    changes: Json
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object, if it still has the uid that the plan saw."""

    ref: ObjectRef
    uid: str
    reason: str
    is_disruptive: bool = False
    """Whether it stops a running member, or removes an address that clients use."""


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
    """The values that the plan relied on, as `plan.view.lease.grounds` returns them. If given, they
    are the precondition instead of the version, which each renewal changes."""


@final
@dataclass(frozen=True, slots=True)
class ChangeSecret:
    """Replace the lines of the replication Secret, whose text no plan contains."""

    ref: ObjectRef
    resource_version: str
    kept: tuple[str, ...]
    """The fingerprints of the lines to keep, in their new order."""
    annotations: Mapping[str, str | None]
    """None removes an annotation."""
    reason: str
    added: str = field(default="", repr=False)
    """A new secret, which becomes the last line; empty to add none."""


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
    """Something that the plan does not do now, and why."""

    what: str
    why: str


@final
@dataclass(frozen=True, slots=True)
class EventNote:
    """A Kubernetes Event to publish on the resource; the publisher drops repeats."""

    type: str
    """Normal or Warning."""
    reason: str
    """A CamelCase reason from the table of conditions and events."""
    message: str


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """The actions of now, what waits and why, and the status to write."""

    actions: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()
    events: tuple[EventNote, ...] = ()
    status: Json = field(default_factory=dict)
    """The whole `status` of the resource; empty if the operator releases the resource."""
    requeue_seconds: float | None = None
    """When to reconcile again without an event; None for the safety interval."""
