"""Owns the reflectors of one operator: every kind that it watches, in every namespace it serves.

A change of an owned object is reported for its cluster. Secrets, service accounts and their roles
are not watched but read by name, so that the operator needs no right to list them. Leases are not
watched either, because each changes more than once a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeAlias, TypeVar, final

from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.kinds import Kind
from gantrymq.operator.kube.watch import reducers
from gantrymq.operator.kube.watch.object_store import ObjectStore, cluster_of, name_of
from gantrymq.operator.kube.watch.reducers import Reducer
from gantrymq.operator.kube.watch.reflector import (
    DEFAULT_PACE,
    Pace,
    RandomSource,
    Reflector,
    Selection,
    Sink,
)
from gantrymq.operator.plan.actions import Json, ObjectRef

S = TypeVar("S", bound=Sink)

OWNED: Final = "app.kubernetes.io/managed-by=gantry"
WRITTEN_BY_MASTERS: Final = "endpointslice.kubernetes.io/managed-by=gantrymq.dev"

_OWNED_KINDS: Final[Sequence[tuple[Kind, Reducer]]] = (
    (kinds.STATEFUL_SET, reducers.whole),
    (kinds.SERVICE, reducers.whole),
    (kinds.CONFIG_MAP, reducers.whole),
    (kinds.POD_DISRUPTION_BUDGET, reducers.whole),
    (kinds.POD, reducers.pod),
    (kinds.PERSISTENT_VOLUME_CLAIM, reducers.volume_claim),
)

_SERVICE_LABEL: Final = "kubernetes.io/service-name"
_GROUP_SERVICE: Final = re.compile(r"(.+)-broker-[0-9]+")

OnCluster: TypeAlias = Callable[[str, str], None]
"""Called with namespace and name of a cluster."""


@final
class Reflection(Generic[S]):
    """The reflectors and sinks of one kind: one for all namespaces, or one for each namespace."""

    def __init__(self, sinks: Mapping[str, S], reflectors: Mapping[str, Reflector]) -> None:
        """Both are by namespace, or under "" for all namespaces."""
        self._reflectors = reflectors
        self._sinks = sinks

    @property
    def is_synced(self) -> bool:
        """Whether all reflectors have listed once."""
        return all(each.is_synced for each in self.reflectors)

    @property
    def reflectors(self) -> Sequence[Reflector]:
        return tuple(self._reflectors.values())

    def sink(self, namespace: str) -> S | None:
        """Return the sink of this namespace; None if the operator does not serve it."""
        return self._sinks.get(self._served(namespace))

    def synced_sink(self, namespace: str) -> S | None:
        """Return the sink of this namespace; None until it has held a complete list.

        A namespace that cannot be listed, such as a deleted one, does not affect the others.
        """
        reflector = self._reflectors.get(self._served(namespace))
        return self.sink(namespace) if reflector is not None and reflector.is_synced else None

    def _served(self, namespace: str) -> str:
        return "" if "" in self._sinks else namespace


@final
class Caches:
    """Owns the reflectors. Create it on the event loop."""

    def __init__(
        self,
        client: KubeClient,
        namespaces: Sequence[str],
        random: RandomSource,
        pace: Pace = DEFAULT_PACE,
    ) -> None:
        """`namespaces` is empty for all namespaces."""
        self._client = client
        self._namespaces = tuple(namespaces) or ("",)
        self._pace = pace
        self._random = random
        self.on_cluster: OnCluster = _ignore
        """Called with the cluster of an owned object that changed."""
        self.on_master: OnCluster = _ignore
        """Called with a cluster in which another member has become master."""
        self.on_placement: Callable[[], None] = lambda: None
        """Called when a node or a storage class has changed."""
        self.nodes = self._everywhere(kinds.NODE, reducers.node)
        self.storage_classes = self._everywhere(kinds.STORAGE_CLASS, reducers.name_only)
        self.owned = {
            kind.name: self._store(kind, reduce, self._owned_changed, OWNED)
            for kind, reduce in _OWNED_KINDS
        }
        self.slices = self._store(
            kinds.ENDPOINT_SLICE, reducers.whole, self._slice_changed, WRITTEN_BY_MASTERS
        )
        self._more: list[Reflector] = []

    def add(self, kind: Kind, make_sink: Callable[[str], S]) -> Reflection[S]:
        """Reflect one more namespaced kind, into a sink for each namespace ("" for all)."""
        reflection = self._reflect(kind, make_sink)
        self._more.extend(reflection.reflectors)
        return reflection

    @property
    def reflectors(self) -> list[Reflector]:
        reflections = (self.nodes, self.storage_classes, self.slices, *self.owned.values())
        return [each for one in reflections for each in one.reflectors] + self._more

    @property
    def is_synced(self) -> bool:
        """Whether the owned objects of all clusters have been listed."""
        return all(reflection.is_synced for reflection in self.owned.values())

    # ------------------------------------------------------------------ writes

    def written(self, item: Json) -> None:
        """Store an object that the API returned to a write, or to a refresh after a conflict."""
        store = self._owned_store(item["kind"], item["metadata"].get("namespace", ""))
        if store is not None:
            store.put(item)

    def gone(self, ref: ObjectRef) -> None:
        """Remove an object that does not exist according to the API."""
        store = self._owned_store(ref.kind, ref.namespace)
        if store is not None:
            store.remove((ref.namespace, ref.name))

    def _owned_store(self, kind: str, namespace: str) -> ObjectStore | None:
        reflection = self.owned.get(kind)
        return None if reflection is None else reflection.sink(namespace)

    # ------------------------------------------------------------------ reflectors

    def _reflect(
        self, kind: Kind, make_sink: Callable[[str], S], labels: str = ""
    ) -> Reflection[S]:
        namespaces = self._namespaces if kind.is_namespaced else ("",)
        sinks = {namespace: make_sink(namespace) for namespace in namespaces}
        return Reflection(
            sinks,
            {
                namespace: Reflector(
                    self._client,
                    Selection(kind, namespace, labels),
                    sink,
                    self._random,
                    self._pace,
                )
                for namespace, sink in sinks.items()
            },
        )

    def _store(
        self, kind: Kind, reduce: Reducer, on_change: Callable[[Json], None], labels: str = ""
    ) -> Reflection[ObjectStore]:
        return self._reflect(kind, lambda _: ObjectStore(reduce, on_change), labels)

    def _everywhere(self, kind: Kind, reduce: Reducer) -> Reflection[ObjectStore]:
        return self._store(kind, reduce, lambda _: self.on_placement())

    # ------------------------------------------------------------------ changes

    def _owned_changed(self, item: Json) -> None:
        cluster = cluster_of(item)
        if cluster:
            self.on_cluster(name_of(item)[0], cluster)

    def _slice_changed(self, item: Json) -> None:
        """Report a new master, which writes its EndpointSlice when it begins to lead."""
        labels = item["metadata"].get("labels") or {}
        found = _GROUP_SERVICE.fullmatch(labels.get(_SERVICE_LABEL, ""))
        if found is not None:
            self.on_master(name_of(item)[0], found[1])


def _ignore(namespace: str, cluster: str) -> None:
    del namespace, cluster
