"""Keeps the reduced objects of one kind, by name and by the cluster they belong to.

Invariant: an object is replaced only by a newer version of itself, so that the answer to a write
and the watch event that follows may arrive in either order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias, final

from gantrymq.operator.kube.watch.reducers import Reducer, is_same
from gantrymq.operator.plan.actions import Json

Name: TypeAlias = tuple[str, str]
"""Namespace ("" for cluster-scoped kinds) and name."""

INSTANCE_LABEL: Final = "app.kubernetes.io/instance"


def name_of(item: Json) -> Name:
    """Return namespace and name of an object."""
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def cluster_of(item: Json) -> str:
    """Return the cluster in the label of an owned object; empty without the label."""
    return str((item["metadata"].get("labels") or {}).get(INSTANCE_LABEL, ""))


@final
class ObjectStore:
    """The cache of one kind. A reflector fills it, and the executor adds what it has just written.

    The cache calls `on_change` with each reduced object that appeared, changed or disappeared.
    """

    __slots__ = ("_objects", "_of_cluster", "_on_change", "_reduce")

    def __init__(self, reduce: Reducer, on_change: Callable[[Json], None]) -> None:
        self._objects: dict[Name, Json] = {}
        self._of_cluster: dict[Name, set[Name]] = {}
        self._on_change = on_change
        self._reduce = reduce

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Json]:
        return iter(self._objects.values())

    def names(self) -> Iterable[Name]:
        return self._objects.keys()

    def get(self, namespace: str, name: str) -> Json | None:
        return self._objects.get((namespace, name))

    def of_cluster(self, namespace: str, cluster: str) -> tuple[Json, ...]:
        """Return the objects of this cluster, sorted by name."""
        names = self._of_cluster.get((namespace, cluster), ())
        return tuple(self._objects[name] for name in sorted(names))

    def put(self, item: Json) -> None:
        """Store an object that the API returned, unless it is older than the stored one."""
        name = name_of(item)
        new, old = self._reduce(item), self._objects.get(name)
        if old is not None and _is_older(new, old):
            return
        if old is not None:
            self._unindex(name, old)
        self._objects[name] = new
        owner = cluster_of(new)
        if owner:
            self._of_cluster.setdefault((name[0], owner), set()).add(name)
        if old is None or not is_same(old, new):
            self._on_change(new)

    def remove(self, name: Name) -> None:
        """Forget an object that is gone."""
        old = self._objects.pop(name, None)
        if old is not None:
            self._unindex(name, old)
            self._on_change(old)

    def _unindex(self, name: Name, item: Json) -> None:
        cluster = (name[0], cluster_of(item))
        members = self._of_cluster.get(cluster)
        if members is not None:
            members.discard(name)
            if not members:
                del self._of_cluster[cluster]


def _is_older(new: Json, old: Json) -> bool:
    """Compare versions of one object, which are integers. A recreated object has a later one."""
    new_version = new["metadata"].get("resourceVersion", "")
    old_version = old["metadata"].get("resourceVersion", "")
    if not (new_version.isdecimal() and old_version.isdecimal()):
        return False
    return int(new_version) < int(old_version)
