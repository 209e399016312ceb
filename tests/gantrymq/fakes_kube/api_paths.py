"""Parses paths and selectors of the simulated API server, and answers its discovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from aiohttp import web

from gantrymq.fakes_kube.objects import Json, Place, Refusal
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.kinds import Kind

KINDS: Final[tuple[Kind, ...]] = (
    kinds.BROKER_CLUSTER, kinds.CONFIG_MAP, kinds.CRD, kinds.ENDPOINT_SLICE, kinds.EVENT,
    kinds.LEASE, kinds.NAMESPACE, kinds.NODE, kinds.PERSISTENT_VOLUME_CLAIM, kinds.POD,
    kinds.POD_DISRUPTION_BUDGET, kinds.ROLE, kinds.ROLE_BINDING, kinds.SECRET, kinds.SERVICE,
    kinds.SERVICE_ACCOUNT, kinds.STATEFUL_SET, kinds.STORAGE_CLASS, kinds.TOPIC,
)  # fmt: skip
KUBE_PLURALS: Final = tuple(kind.plural for kind in KINDS)
BY_PLURAL: Final = {(kind.api_version, kind.plural): kind for kind in KINDS}
BY_NAME: Final = {kind.name: kind for kind in KINDS}


def with_kind(kind: Kind, body: Json) -> Json:
    return {**body, "apiVersion": kind.api_version, "kind": kind.name}


def parse_path(path: str) -> tuple[Place, str]:
    """The object or collection of a path, and the subresource."""
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        api, rest = parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 2:
        api, rest = f"{parts[1]}/{parts[2]}", parts[3:]
    else:
        raise Refusal(404, "NotFound", f"no such path: {path}")
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not rest or (api, rest[0]) not in BY_PLURAL:
        raise Refusal(404, "NotFound", "the server could not find the requested resource")
    plural, name = rest[0], rest[1] if len(rest) > 1 else ""
    return Place(api, plural, namespace, name), rest[2] if len(rest) > 2 else ""


def selector(request: web.Request) -> Callable[[Json], bool]:
    labels = _pairs(request.query.get("labelSelector", ""))
    fields = _pairs(request.query.get("fieldSelector", ""))

    def matches(item: Json) -> bool:
        own = item["metadata"].get("labels") or {}
        return all(own.get(key) == value for key, value in labels) and all(
            _field(item, key) == value for key, value in fields
        )

    return matches


def _pairs(selector: str) -> list[tuple[str, str]]:
    parts = (part.partition("=") for part in selector.split(",") if part)
    return [(key, value) for key, _, value in parts]


def _field(item: Json, path: str) -> Any:
    value: Any = item
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def status_response(
    code: int, reason: str, message: str, headers: dict[str, str] | None = None
) -> web.Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return web.json_response(body, status=code, headers=headers)


def discovery(path: str) -> Json | None:
    """The answer to a request that discovers kinds; None for a path of another sort."""
    groups = sorted({kind.api_version for kind in KINDS if "/" in kind.api_version})
    if path == "/version":
        return {"major": "1", "minor": "34"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return {
            "kind": "APIGroupList",
            "groups": [
                {
                    "name": group.partition("/")[0],
                    "versions": [{"version": group.partition("/")[2]}],
                    "preferredVersion": {"version": group.partition("/")[2]},
                }
                for group in groups
            ],
        }
    version = path.removeprefix("/apis/") if path.startswith("/apis/") else path[len("/api/") :]
    if version not in groups and version != "v1":
        return None
    return {
        "kind": "APIResourceList",
        "groupVersion": version,
        "resources": [
            {
                "name": kind.plural,
                "singularName": kind.name.lower(),
                "kind": kind.name,
                "namespaced": kind.is_namespaced,
                "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
            }
            for kind in KINDS
            if kind.api_version == version
        ],
    }
