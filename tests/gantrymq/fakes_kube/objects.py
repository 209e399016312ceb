"""Keeps the objects of the simulated API server, with every rule a client can observe.

Versions count up by one for each write. Watches get every event since a version, as long as the
history goes back that far; what is older is answered 410. Server-side apply is simple: what a
manager applied is remembered, so fields that it applies no longer are removed; lists are replaced
as a whole, except `conditions`.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

Json: TypeAlias = dict[str, Any]

# Events that a watch may go back to; a real server keeps minutes.
HISTORY_MAX: Final = 10_000


class Refusal(Exception):  # noqa: N818 - the answer of an API, not a fault
    """The request is answered with a Status of this code."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Names an object, or a collection when `name` is empty."""

    api: str
    """Such as `v1` or `apps/v1`."""
    plural: str
    namespace: str
    name: str = ""


@final
@dataclass(frozen=True, slots=True)
class Event:
    """One change, as watches see it."""

    version: int
    type: str
    place: Place
    item: Json


@final
@dataclass(slots=True)
class Objects:
    """The storage of one server; it survives a restart of whatever uses the server."""

    items: dict[Place, Json] = field(default_factory=dict)
    version: int = 1
    history: list[Event] = field(default_factory=list)
    forgotten: int = 0
    """Versions up to this one are too old for a watch."""
    frozen: tuple[dict[Place, Json], int] | None = None
    """The objects and the version of an earlier moment, for lists that are stale."""
    on_event: Callable[[Event], None] = lambda event: None
    _applied: dict[tuple[Place, str], Json] = field(default_factory=dict)
    _uids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    # ------------------------------------------------------------------ reading

    def get(self, place: Place) -> Json:
        item = self.items.get(place)
        if item is None:
            raise Refusal(404, "NotFound", f'{place.plural} "{place.name}" not found')
        return item

    def freeze(self) -> None:
        """Keep this moment for `Faults.stale_lists`."""
        self.frozen = dict(self.items), self.version

    def select(
        self,
        collection: Place,
        matches: Callable[[Json], bool],
        items: Mapping[Place, Json] | None = None,
    ) -> list[Json]:
        """The objects of a collection, now or as they were in `items`."""
        found = (
            (place, item)
            for place, item in (self.items if items is None else items).items()
            if (place.api, place.plural) == (collection.api, collection.plural)
            and collection.namespace in ("", place.namespace)
            and matches(item)
        )
        return [item for _, item in sorted(found, key=lambda each: _order(each[0]))]

    def since(self, version: int) -> list[Event]:
        if version < self.forgotten:
            raise Refusal(410, "Expired", f"too old resource version: {version}")
        return [event for event in self.history if event.version > version]

    def forget_history(self) -> None:
        """Every version before this moment is too old from now on."""
        self.history.clear()
        self.forgotten = self.version

    # ------------------------------------------------------------------ writing

    def create(self, place: Place, body: Json, manager: str = "") -> Json:
        if place in self.items:
            raise Refusal(409, "AlreadyExists", f'{place.plural} "{place.name}" already exists')
        if body.get("metadata", {}).get("resourceVersion"):
            raise Refusal(400, "BadRequest", "resourceVersion must not be set on a new object")
        item = copy.deepcopy(body)
        metadata = item.setdefault("metadata", {})
        metadata |= {
            "name": place.name,
            "uid": f"uid-{next(self._uids)}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
        }
        if place.namespace:
            metadata["namespace"] = place.namespace
        if manager:
            metadata["managedFields"] = [{"manager": manager}]
        return self._store(place, item, "ADDED")

    def replace(self, place: Place, body: Json, *, status: bool = False) -> Json:
        """Make this the object; a status is replaced by itself, and never with the rest."""
        old = self.get(place)
        check_expected(old, body.get("metadata", {}), place)
        new = copy.deepcopy(old if status else body)
        if status:
            new["status"] = copy.deepcopy(body.get("status", {}))
        elif "status" in old:
            new["status"] = copy.deepcopy(old["status"])
        else:
            new.pop("status", None)
        kept = ("uid", "creationTimestamp", "generation", "namespace", "deletionTimestamp")
        new["metadata"] |= {key: old["metadata"][key] for key in kept if key in old["metadata"]}
        if _without_metadata(new) == _without_metadata(old) and _same_metadata(new, old):
            return old
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            return self._drop(place, new)
        return self._store(place, new, "MODIFIED")

    def apply(self, place: Place, body: Json, manager: str, *, status: bool = False) -> Json:
        """Server-side apply with force."""
        wanted = {key: body[key] for key in body if key not in ("apiVersion", "kind")}
        expected = wanted.get("metadata", {})
        wanted["metadata"] = {
            key: value for key, value in expected.items() if key not in ("resourceVersion", "uid")
        }
        if place not in self.items:
            if status or expected.get("resourceVersion") or expected.get("uid"):
                raise Refusal(404, "NotFound", f'{place.plural} "{place.name}" not found')
            item = self.create(place, {**body, "metadata": wanted["metadata"]}, manager)
            self._applied[(place, manager)] = wanted
            return item
        old = self.items[place]
        check_expected(old, expected, place)
        before = self._applied.get((place, manager), {})
        new = _merged(_pruned(copy.deepcopy(old), before, wanted), wanted)
        stored = self.replace(place, new, status=status)
        self._applied[(place, manager)] = wanted
        return stored

    def delete(self, place: Place, options: Mapping[str, Any]) -> Json:
        item = self.get(place)
        check_expected(item, options.get("preconditions") or {}, place)
        if item["metadata"].get("finalizers"):
            if item["metadata"].get("deletionTimestamp"):
                return item
            marked = copy.deepcopy(item)
            marked["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z"
            return self._store(place, marked, "MODIFIED")
        return self._drop(place, item)

    def _drop(self, place: Place, item: Json) -> Json:
        del self.items[place]
        for applied in [each for each in self._applied if each[0] == place]:
            del self._applied[applied]
        gone = self._versioned(item)
        self._record("DELETED", place, gone)
        self._collect(item["metadata"]["uid"])
        return gone

    def _collect(self, owner: str) -> None:
        """Garbage collection: what the owner owned goes with it."""
        for place, item in list(self.items.items()):
            owners = item["metadata"].get("ownerReferences") or ()
            if any(each["uid"] == owner for each in owners):
                self.delete(place, {})

    def _store(self, place: Place, item: Json, kind: str) -> Json:
        stored = self._versioned(item)
        self.items[place] = stored
        self._record(kind, place, stored)
        return stored

    def _versioned(self, item: Json) -> Json:
        self.version += 1
        metadata = {**item["metadata"], "resourceVersion": str(self.version)}
        return {**item, "metadata": metadata}

    def _record(self, kind: str, place: Place, item: Json) -> None:
        event = Event(self.version, kind, place, item)
        self.history.append(event)
        if len(self.history) > HISTORY_MAX:
            self.forgotten = self.history.pop(0).version
        self.on_event(event)


def check_expected(item: Json, expected: Mapping[str, Any], place: Place) -> None:
    """Refuse a write that expects another version, or another object of this name."""
    metadata = item["metadata"]
    for key in ("resourceVersion", "uid"):
        if expected.get(key) and expected[key] != metadata[key]:
            raise Refusal(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on {place.plural} "{place.name}": {key} is'
                f" {metadata[key]}, not {expected[key]}",
            )


# ---------------------------------------------------------------------- values


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(item: Json, operations: list[Json]) -> Json:
    """RFC 6902, as far as members of objects go."""
    new = copy.deepcopy(item)
    for operation in operations:
        parts = operation["path"].strip("/").split("/")
        keys = [part.replace("~1", "/").replace("~0", "~") for part in parts]
        target = new
        for key in keys[:-1]:
            target = target[key]
        if operation["op"] == "test":
            if target.get(keys[-1]) != operation["value"]:
                raise Refusal(422, "Invalid", "the server rejected our request: test failed")
        elif operation["op"] in ("add", "replace"):
            target[keys[-1]] = copy.deepcopy(operation["value"])
        elif operation["op"] == "remove":
            del target[keys[-1]]
        else:
            raise Refusal(400, "BadRequest", f"unknown operation {operation['op']}")
    return new


def _merged(target: Any, wanted: Any) -> Any:
    if not (isinstance(target, dict) and isinstance(wanted, dict)):
        return copy.deepcopy(wanted)
    merged = dict(target)
    for key, value in wanted.items():
        if key == "conditions" and isinstance(target.get(key), list):
            merged[key] = _merged_conditions(target[key], value)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _merged_conditions(target: list[Json], wanted: list[Json]) -> list[Json]:
    types = {each["type"] for each in wanted}
    return copy.deepcopy(wanted) + [each for each in target if each["type"] not in types]


def _pruned(target: Any, before: Any, wanted: Any) -> Any:
    """Without what the manager applied before and does not apply now."""
    if not (isinstance(target, dict) and isinstance(before, dict) and isinstance(wanted, dict)):
        return target
    kept = dict(target)
    for key, value in before.items():
        if key not in wanted:
            kept.pop(key, None)
        elif key in kept:
            kept[key] = _pruned(kept[key], value, wanted[key])
    if "conditions" in before and "conditions" in kept:
        gone = {each["type"] for each in before["conditions"]} - {
            each["type"] for each in wanted.get("conditions", ())
        }
        kept["conditions"] = [each for each in kept["conditions"] if each["type"] not in gone]
    return kept


def _order(place: Place) -> tuple[str, str]:
    return place.namespace, place.name


def _without_metadata(item: Json) -> Json:
    return {key: value for key, value in item.items() if key != "metadata"}


def _same_metadata(new: Json, old: Json) -> bool:
    keys = ("labels", "annotations", "finalizers", "ownerReferences")
    return all(
        (new["metadata"].get(key) or None) == (old["metadata"].get(key) or None) for key in keys
    )
