"""Models the objects of an API server: versions, uids, defaults, server-side apply.

Apply merges maps, takes lists as they come, and removes what the one manager set before and does
not set any more. Everything is deterministic.
"""

from __future__ import annotations

import base64
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, final

from gantrymq.base.group_secret import fingerprint
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

Key = tuple[str, str]  # kind and name: the model has one namespace


class RefusedError(Exception):
    """The API server refused an action."""


def time_text(now: float) -> str:
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@final
class Api:
    """All objects, and the clock that stamps them."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.objects: dict[Key, Json] = {}
        self.applied: dict[Key, Json] = {}
        self.addresses_taken: set[str] = set()
        self._number = 0
        self._address = 0

    @property
    def last_number(self) -> int:
        """The version of the newest write."""
        return self._number

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def of_kind(self, kind: str) -> list[Json]:
        return [each for (found, _), each in sorted(self.objects.items()) if found == kind]

    def get(self, kind: str, name: str) -> Json | None:
        return self.objects.get((kind, name))

    def create(self, body: Json) -> Json:
        key = (body["kind"], body["metadata"]["name"])
        assert key not in self.objects, f"{key} exists"
        content = deepcopy(body)
        content["metadata"].setdefault("namespace", "mq")
        content["metadata"]["uid"] = f"uid-{self.next_number()}"
        content["metadata"]["creationTimestamp"] = time_text(self.now)
        self.objects[key] = content
        self.touch(content)
        return content

    def touch(self, content: Json) -> None:
        """Give the object a new version."""
        content["metadata"]["resourceVersion"] = str(self.next_number())

    def remove(self, kind: str, name: str) -> None:
        self.objects.pop((kind, name), None)
        self.applied.pop((kind, name), None)

    # ------------------------------------------------------------------ actions

    def carry_out(self, action: Action) -> None:
        """As the executor does it; RefusedError where a precondition does not hold."""
        match action:
            case Apply():
                self._apply(action)
            case Patch():
                self._patch(action)
            case Delete():
                self.delete(action.ref, action.uid)
            case AnnotateLease():
                self._annotate_lease(action)
            case ChangeSecret():
                self._change_secret(action)
            case SetFinalizers():
                self._set_finalizers(action)

    def _apply(self, action: Apply) -> None:
        body = action.body
        key = (body["kind"], body["metadata"]["name"])
        found = self.objects.get(key)
        version = found["metadata"]["resourceVersion"] if found is not None else ""
        if version != action.resource_version:
            raise RefusedError(f"{key}: version is {version!r}")
        if found is None:
            found = self.create(self._with_address(body))
        else:
            _check_immutable(found, body)
            _remove_unset(found, self.applied.get(key, {}), body)
            _merge(found, body)
            self.touch(found)
        found["metadata"]["generation"] = self.next_number()
        self.applied[key] = deepcopy(body)
        _add_defaults(found)

    def _patch(self, action: Patch) -> None:
        found = self.objects.get((action.ref.kind, action.ref.name))
        if found is None or found["metadata"]["resourceVersion"] != action.resource_version:
            raise RefusedError(f"{action.ref.name}: the object has changed")
        _patch(found, action.changes)
        self.touch(found)
        _add_defaults(found)

    def _with_address(self, body: Json) -> Json:
        content = deepcopy(body)
        if body["kind"] != "Service" or body["spec"].get("clusterIP") == "None":
            return content
        wanted = body["spec"].get("clusterIP")
        if wanted in self.addresses_taken:
            raise RefusedError(
                f"Service {body['metadata']['name']}: spec.clusterIPs: Invalid value: {wanted}:"
                " failed to allocate IP: provided IP is already allocated"
            )
        if not wanted:
            self._address += 1
            content["spec"]["clusterIP"] = f"10.96.{self._address // 250}.{self._address % 250 + 1}"
        return content

    def delete(self, ref: ObjectRef, uid: str) -> None:
        found = self.objects.get((ref.kind, ref.name))
        if found is None:
            return
        if found["metadata"]["uid"] != uid:
            raise RefusedError(f"{ref.kind} {ref.name}: uid is {found['metadata']['uid']}")
        if ref.kind == "Pod" or found["metadata"].get("finalizers"):
            grace = found["spec"].get("terminationGracePeriodSeconds", 30)
            found["metadata"]["deletionTimestamp"] = time_text(self.now + grace)
            self.touch(found)
        else:
            self.remove(ref.kind, ref.name)

    def _annotate_lease(self, action: AnnotateLease) -> None:
        found = self.objects.get((action.ref.kind, action.ref.name))
        if found is None or found["metadata"]["resourceVersion"] != action.resource_version:
            raise RefusedError(f"{action.ref.name}: the Lease has changed")
        found["metadata"].setdefault("annotations", {}).update(action.annotations)
        self.touch(found)

    def _change_secret(self, action: ChangeSecret) -> None:
        found = self.objects.get((action.ref.kind, action.ref.name))
        if found is None or found["metadata"]["resourceVersion"] != action.resource_version:
            raise RefusedError(f"{action.ref.name}: the Secret has changed")
        lines = {fingerprint(line): line for line in lines_of_secret(found)}
        content = [*(lines[each] for each in action.kept), action.added.encode()]
        text = base64.b64encode(b"\n".join(content)).decode()
        _patch(found, {"metadata": {"annotations": action.annotations}, "data": {"secret": text}})
        self.touch(found)

    def _set_finalizers(self, action: SetFinalizers) -> None:
        found = self.objects.get((action.ref.kind, action.ref.name))
        if found is None or found["metadata"]["resourceVersion"] != action.resource_version:
            raise RefusedError("the resource has changed")
        found["metadata"]["finalizers"] = list(action.finalizers)
        self.touch(found)
        if not action.finalizers and "deletionTimestamp" in found["metadata"]:
            self.remove(action.ref.kind, action.ref.name)


def _check_immutable(found: Json, body: Json) -> None:
    if body["kind"] != "StatefulSet":
        return
    for key in ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"):
        if key in body["spec"] and body["spec"][key] != found["spec"].get(key):
            raise RefusedError(f"StatefulSet: spec.{key} is immutable")


# Any: values of JSON.
def _merge(found: Any, wanted: Any) -> None:
    for key, value in wanted.items():
        if isinstance(value, dict) and isinstance(found.get(key), dict):
            _merge(found[key], value)
        else:
            found[key] = deepcopy(value)


def _patch(found: Any, changes: Any) -> None:
    """A merge patch."""
    for key, value in changes.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict):
            _patch(found.setdefault(key, {}), value)
        else:
            found[key] = deepcopy(value)


def _remove_unset(found: Any, before: Any, wanted: Any) -> None:
    for key, value in before.items():
        if key not in wanted:
            found.pop(key, None)
        elif all(isinstance(each, dict) for each in (value, wanted[key], found.get(key))):
            _remove_unset(found[key], value, wanted[key])


def _add_defaults(content: Json) -> None:
    """Some of what a real server adds: the plan must not take it for drift."""
    spec = content.get("spec")
    if content["kind"] == "Service":
        spec = content["spec"]
        spec.setdefault("sessionAffinity", "None")
        spec.setdefault("ipFamilies", ["IPv4"])
        for port in spec["ports"]:
            port.setdefault("targetPort", port["port"])
    if content["kind"] == "StatefulSet" and spec is not None:
        spec.setdefault("revisionHistoryLimit", 10)
        pod = spec["template"]["spec"]
        for name, value in {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}.items():
            pod.setdefault(name, value)
        for container in pod["containers"]:
            container.setdefault("terminationMessagePath", "/dev/termination-log")
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                container[probe].setdefault("successThreshold", 1)
                container[probe]["httpGet"].setdefault("scheme", "HTTP")
        for template in spec.get("volumeClaimTemplates", ()):
            template.setdefault("status", {"phase": "Pending"})
            template["spec"].setdefault("volumeMode", "Filesystem")
