"""Keeps objects as a Kubernetes API server does: versions, conflicts, and rights.

What a real one does, as far as a lease needs it:

    POST    of a name that is there      409 AlreadyExists
            with a resourceVersion       400
    PUT     of another resourceVersion   409 Conflict
            of another uid               409 Conflict, there or not
            without a resourceVersion    422 for a Lease; an EndpointSlice is replaced
            of what is not there         404 for an EndpointSlice; a Lease is made, with 201
            that changes nothing         200, and the resourceVersion stays
            of another addressType       422 for an EndpointSlice
    PATCH   (merge)                      as a PUT of what comes out
    DELETE  of another resourceVersion   409 Conflict, where preconditions name one
"""

from __future__ import annotations

import copy
import re
import uuid
from dataclasses import dataclass
from typing import Any, Final

LEASES: Final = "leases"
SLICES: Final = "endpointslices"
SERVICES: Final = "services"
KINDS: Final = {LEASES: "Lease", SLICES: "EndpointSlice", SERVICES: "Service"}

_MICRO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")

# Any: JSON of any client; what is wrong with it is the point of this server.
Object = dict[str, Any]
Key = tuple[str, str, str]  # plural, namespace, name


@dataclass(frozen=True)
class Outcome:
    status: int
    body: Object


class RefusedError(Exception):
    """With a Status, as the API answers it."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        body: Object = {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": status,
        }  # fmt: skip
        self.outcome = Outcome(status, body)


class KubeObjects:
    """All there are."""

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self._version = 100

    def get(self, key: Key) -> Outcome:
        return Outcome(200, copy.deepcopy(self._there(key)))

    def list(self, plural: str, namespace: str, selector: str, *, whole: bool) -> Outcome:
        """Those with the label of the selector, `name=value`; the metadata alone unless `whole`."""
        label, _, value = selector.partition("=")
        found = [
            each
            for (kind, place, _), each in sorted(self.objects.items())
            if (kind, place) == (plural, namespace)
            and (not label or each["metadata"].get("labels", {}).get(label) == value)
        ]
        items = [each if whole else {"metadata": each["metadata"]} for each in found]
        kind = f"{KINDS[plural]}List" if whole else "PartialObjectMetadataList"
        return Outcome(200, copy.deepcopy({"kind": kind, "metadata": {}, "items": items}))

    def slice(self) -> Object | None:
        """The one EndpointSlice of a group's Service, once there is one."""
        return next((each for key, each in self.objects.items() if key[0] == SLICES), None)

    def post(self, key: Key, body: Object) -> Outcome:
        """The name in the key is not counted: the body has it."""
        plural, namespace, _ = key
        _check(body, plural)
        metadata = body["metadata"]
        if metadata.get("resourceVersion"):
            text = "resourceVersion should not be set on objects to be created"
            raise RefusedError(400, "BadRequest", text)
        key = (plural, namespace, metadata["name"])
        _check_name(body, key)
        if key in self.objects:
            text = f'{plural} "{key[2]}" already exists'
            raise RefusedError(409, "AlreadyExists", text)
        return Outcome(201, self._keep(key, body, str(uuid.uuid4())))

    def put(self, key: Key, body: Object) -> Outcome:
        _check(body, key[0])
        _check_name(body, key)
        there = self.objects.get(key)
        metadata = body["metadata"]
        uid, version = metadata.get("uid"), metadata.get("resourceVersion")
        if uid and uid != (there["metadata"]["uid"] if there else ""):
            raise _conflict(key, "Precondition failed: UID in precondition")
        if there is None:
            if key[0] != LEASES:
                self._there(key)
            return Outcome(201, self._keep(key, body, str(uuid.uuid4())))
        if not version:
            if key[0] == LEASES:
                text = "metadata.resourceVersion: Invalid value: 0x0: must be specified"
                raise RefusedError(422, "Invalid", text)
        elif version != there["metadata"]["resourceVersion"]:
            raise _conflict(key, "the object has been modified; please apply your changes to the")
        if body.get("addressType") != there.get("addressType"):
            raise RefusedError(422, "Invalid", "addressType: Invalid value: field is immutable")
        return Outcome(200, self._keep(key, body, there["metadata"]["uid"]))

    def patch(self, key: Key, body: Object) -> Outcome:
        merged: Object = _merged(self._there(key), body)
        return self.put(key, merged)

    def delete(self, key: Key, options: Object | None = None) -> Outcome:
        version = (options or {}).get("preconditions", {}).get("resourceVersion")
        if version not in (None, self._there(key)["metadata"]["resourceVersion"]):
            raise _conflict(key, "Precondition failed: resourceVersion in precondition")
        del self.objects[key]
        return Outcome(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _there(self, key: Key) -> Object:
        if key not in self.objects:
            raise RefusedError(404, "NotFound", f'{key[0]} "{key[2]}" not found')
        return self.objects[key]

    def _keep(self, key: Key, body: Object, uid: str) -> Object:
        kept = copy.deepcopy(body)
        before = self.objects.get(key)
        kept["metadata"]["uid"] = uid
        kept["metadata"]["resourceVersion"] = (
            before["metadata"]["resourceVersion"] if before else ""
        )
        if kept != before:
            self._version += 1
            kept["metadata"]["resourceVersion"] = str(self._version)
        self.objects[key] = kept
        return copy.deepcopy(kept)


def _check(body: Object, plural: str) -> None:
    """What the API would not read at all."""
    if body.get("kind") != KINDS[plural] or not isinstance(body.get("metadata"), dict):
        raise RefusedError(400, "BadRequest", f"the object provided is no {KINDS[plural]}")
    for name in ("labels", "annotations"):
        if not all(isinstance(each, str) for each in body["metadata"].get(name, {}).values()):
            raise RefusedError(400, "BadRequest", f"metadata.{name} are texts")
    if plural != LEASES:
        return
    spec = body.get("spec") or {}
    for name in ("acquireTime", "renewTime"):
        if name in spec and not _MICRO_TIME.fullmatch(spec[name]):
            raise RefusedError(400, "BadRequest", f"spec.{name} is no MicroTime: {spec[name]}")
    if spec.get("leaseDurationSeconds", 1) <= 0:
        raise RefusedError(422, "Invalid", "spec.leaseDurationSeconds: must be greater than 0")


def _check_name(body: Object, key: Key) -> None:
    metadata = body["metadata"]
    if metadata.get("name") != key[2] or metadata.get("namespace", key[1]) != key[1]:
        text = "the name or namespace of the object does not match the name on the URL"
        raise RefusedError(400, "BadRequest", text)


def _conflict(key: Key, why: str) -> RefusedError:
    text = f'Operation cannot be fulfilled on {key[0]} "{key[2]}": {why}'
    return RefusedError(409, "Conflict", text)


# Any: see Object.
def _merged(value: Any, patch: Any) -> Any:
    """A JSON merge patch: null takes away."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, each in patch.items():
        if each is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), each)
    return merged
