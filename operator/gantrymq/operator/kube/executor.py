"""Carries out the actions of a plan, one API write at a time, each with its precondition.

The first refused action ends the run, because the actions after it were planned for a state that
does not exist. Invariant: each write has a precondition that the API server checks, so the server
refuses a plan that was made from a stale snapshot.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.group_secret import fingerprint
from gantrymq.operator.kube.client import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, KubeClient, Lane
from gantrymq.operator.kube.errors import (
    ApiError,
    ConflictError,
    NotFoundError,
    RefusedError,
)
from gantrymq.operator.kube.kinds import SECRET, path_of_body, path_of_ref
from gantrymq.operator.kube.ownership import belongs_to, foreign
from gantrymq.operator.kube.watch.reducers import lines_of_secret
from gantrymq.operator.plan.actions import (
    Action,
    AnnotateLease,
    Apply,
    ChangeSecret,
    Delete,
    Json,
    ObjectRef,
    Patch,
    SetFinalizers,
)
from gantrymq.operator.plan.objects.access import SECRET_ENTRY
from gantrymq.operator.plan.objects.fields import list_at, map_at
from gantrymq.operator.plan.view.lease import grounds
from gantrymq.runtime.logs import Log

FIELD_MANAGER: Final = "gantry-operator"
# The master of a group renews its Lease every 0.8 s, which may happen between reading and writing.
LEASE_TRIES_MAX: Final = 3
_INVALID: Final = 422

OnWritten = Callable[[Json], None]
OnGone = Callable[[ObjectRef], None]


@final
@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome of a plan's actions."""

    done: int
    """The number of actions that were carried out, from the first."""
    refused: Action | None = None
    error: ApiError | None = None
    """Why the run ended at `refused`; None if all actions were carried out."""


@final
class Executor:
    """Executes plans. It reports each object that it wrote or found to `on_written`, and each that
    does not exist to `on_gone`. It keeps no state."""

    def __init__(
        self,
        client: KubeClient,
        on_written: OnWritten,
        on_gone: OnGone,
        lane: Lane = Lane.URGENT,
    ) -> None:
        self._client = client
        self._lane = lane
        self._log = Log("operator.executor")
        self._on_gone = on_gone
        self._on_written = on_written

    async def execute(self, actions: Sequence[Action]) -> Execution:
        """Carry out the actions in order, up to the first that the API refuses."""
        disrupted: set[str] = set()
        for number, action in enumerate(actions):
            group = _disrupted_group(action)
            if group in disrupted:
                return Execution(number)
            try:
                await self._carry_out(action)
            except ConflictError as error:
                await self._refresh(action)
                return Execution(number, action, error)
            except ApiError as error:
                return Execution(number, action, error)
            self._log.info(
                _TITLES[type(action)],
                object=title_of(action),
                namespace=action.ref.namespace,
                reason=action.reason,
            )
            if group:
                disrupted.add(group)
        return Execution(len(actions))

    async def _carry_out(self, action: Action) -> None:
        match action:
            case Apply():
                self._on_written(await self._apply(action))
            case Patch():
                self._on_written(await self._patch(action))
            case Delete():
                await self._delete(action)
            case AnnotateLease():
                await self._annotate_lease(action)
            case ChangeSecret():
                await self._change_secret(action)
            case SetFinalizers():
                await self._set_finalizers(action)

    async def _apply(self, action: Apply) -> Json:
        path = path_of_body(action.body)
        body = action.body
        if action.resource_version:
            versioned = {**body["metadata"], "resourceVersion": action.resource_version}
            body = {**body, "metadata": versioned}
        elif body["kind"] == SECRET.name:
            return await self._create(body)
        else:
            await self._must_be_absent(action)
        parameters = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return await self._client.request(
            "PATCH", path, parameters, body, content_type=APPLY_PATCH, lane=self._lane
        )

    async def _create(self, body: Json) -> Json:
        """Create a Secret in one step, because the content of an existing one must never be
        replaced."""
        collection = path_of_body(body).rpartition("/")[0]
        return await self._client.request(
            "POST", collection, {"fieldManager": FIELD_MANAGER}, body, lane=self._lane
        )

    async def _must_be_absent(self, action: Apply) -> None:
        """Raise ConflictError if the object exists, because server-side apply has no precondition
        for absence.

        A POST would have one, but a later apply never removes fields that a POST has set.
        """
        path = path_of_ref(action.ref)
        try:
            found = await self._client.get(path, lane=self._lane)
        except NotFoundError:
            return
        owner = next(iter(list_at(action.body, "metadata", "ownerReferences")), None)
        if owner is not None:
            if not belongs_to(found, owner["uid"], owner["name"]):
                raise foreign(found, title_of(action))
            found = await self._labelled(action, found)
        self._on_written(found)
        raise ConflictError(f"{path} exists already", status=409, reason="AlreadyExists")

    async def _labelled(self, action: Apply, found: Json) -> Json:
        """Restore the labels by which caches select an object, so that the next plan sees it."""
        wanted, labels = (map_at(each, "metadata", "labels") for each in (action.body, found))
        if wanted.items() <= labels.items():
            return found
        version = found["metadata"]["resourceVersion"]
        reason = "its labels were removed"
        changes = {"metadata": {"labels": dict(wanted)}}
        return await self._patch(Patch(action.ref, version, changes, reason))

    async def _patch(self, action: Patch) -> Json:
        metadata = action.changes.get("metadata") or {}
        versioned = {**metadata, "resourceVersion": action.resource_version}
        try:
            return await self._client.request(
                "PATCH",
                path_of_ref(action.ref),
                {"fieldManager": FIELD_MANAGER},
                {**action.changes, "metadata": versioned},
                content_type=MERGE_PATCH,
                lane=self._lane,
            )
        except NotFoundError:
            self._on_gone(action.ref)
            raise

    async def _delete(self, action: Delete) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": action.uid},
            "propagationPolicy": "Background",
        }
        try:
            await self._client.request(
                "DELETE", path_of_ref(action.ref), None, body, lane=self._lane
            )
        except NotFoundError:
            self._on_gone(action.ref)

    async def _annotate_lease(self, action: AnnotateLease) -> None:
        if not action.expected:
            await self._annotate(action, action.resource_version)
            return
        for _ in range(LEASE_TRIES_MAX - 1):
            with suppress(ConflictError):
                await self._annotate(action, await self._version_if_expected(action))
                return
        await self._annotate(action, await self._version_if_expected(action))

    async def _version_if_expected(self, action: AnnotateLease) -> str:
        """Return the current version of the Lease, if its fields that the plan relies on have not
        changed. Raises ConflictError otherwise."""
        try:
            found = await self._client.get(path_of_ref(action.ref), lane=self._lane)
        except NotFoundError as error:
            raise ConflictError(str(error), status=409, reason=error.reason) from error
        now = grounds(found)
        changed = [name for name, value in action.expected.items() if now.get(name, "") != value]
        if changed:
            words = f"{title_of(action)} has changed its {', '.join(changed)} since the plan"
            raise ConflictError(words, status=409, reason="Conflict")
        return str(found["metadata"]["resourceVersion"])

    async def _annotate(self, action: AnnotateLease, version: str) -> None:
        metadata = {"resourceVersion": version, "annotations": dict(action.annotations)}
        await self._client.request(
            "PATCH",
            path_of_ref(action.ref),
            {"fieldManager": FIELD_MANAGER},
            {"metadata": metadata},
            content_type=MERGE_PATCH,
            lane=self._lane,
        )

    async def _change_secret(self, action: ChangeSecret) -> None:
        """Change the replication Secret. Only this method reads its text; the plan names its lines
        by their fingerprints."""
        try:
            found = await self._client.get(path_of_ref(action.ref), lane=self._lane)
        except NotFoundError as error:
            raise ConflictError(str(error), status=409, reason=error.reason) from error
        lines = {fingerprint(line): line for line in lines_of_secret(found)}
        if not lines.keys() >= set(action.kept):
            words = f"{title_of(action)} has changed its lines since the plan"
            raise ConflictError(words, status=409, reason="Conflict")
        content = [lines[each] for each in action.kept]
        content += [action.added.encode()] if action.added else []
        text = base64.b64encode(b"\n".join(content)).decode()
        changes = {
            "metadata": {"annotations": dict(action.annotations)},
            "data": {SECRET_ENTRY: text},
        }
        await self._patch(Patch(action.ref, action.resource_version, changes, action.reason))

    async def _set_finalizers(self, action: SetFinalizers) -> None:
        patch = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": action.resource_version},
            {"op": "add", "path": "/metadata/finalizers", "value": list(action.finalizers)},
        ]
        try:
            await self._client.request(
                "PATCH",
                path_of_ref(action.ref),
                {"fieldManager": FIELD_MANAGER},
                patch,
                content_type=JSON_PATCH,
                lane=self._lane,
            )
        except RefusedError as error:
            if error.status == _INVALID:  # the status of a `test` that fails
                raise ConflictError(str(error), status=409, reason=error.reason) from error
            raise
        except NotFoundError:
            self._on_gone(action.ref)  # the last finalizer was removed already

    async def _refresh(self, action: Action) -> None:
        """Refresh the object in the caches, because the snapshot was stale."""
        if not isinstance(action, Apply | Patch):
            return
        ref = action.ref
        try:
            self._on_written(await self._client.get(path_of_ref(ref), lane=self._lane))
        except NotFoundError:
            self._on_gone(ref)
        except ApiError as error:
            self._log.debug("cannot read again", object=title_of(action), cause=error)


_TITLES: Final[dict[type[Action], str]] = {
    Apply: "applied",
    Patch: "patched",
    Delete: "deleted",
    AnnotateLease: "asked the group's master",
    ChangeSecret: "changed the secret",
    SetFinalizers: "set finalizers",
}


def title_of(action: Action) -> str:
    """Return the object of an action, as `Kind/name`."""
    return f"{action.ref.kind}/{action.ref.name}"


def _disrupted_group(action: Action) -> str:
    """Return the group that a disruptive action disturbs; empty for any other action."""
    if isinstance(action, Delete | AnnotateLease) and action.is_disruptive:
        # A pod is named <group>-<ordinal>; a Lease has the group's name.
        name = action.ref.name
        return name.rpartition("-")[0] if action.ref.kind == "Pod" else name
    return ""
