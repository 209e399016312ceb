"""The reflectors of one operator: every kind it watches, in every namespace it serves.

Changes of owned objects are told by the cluster they belong to. Secrets, service accounts and their
roles are not watched but read by name, so that the operator needs no right to list them. Leases are
not watched either: each changes more than once a second.
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
"""Told the namespace and the name of a cluster that something changed of."""


@final
class Reflection(Generic[S]):
    """One kind: a reflector and a sink for all namespaces, or for each of several."""

    def __init__(self, sinks: Mapping[str, S], reflectors: Mapping[str, Reflector]) -> None:
        """Both by namespace, or under "" for all of them."""
        self._reflectors = reflectors
        self._sinks = sinks

    @property
    def is_synced(self) -> bool:
        """Whether every namespace is known."""
        return all(each.is_synced for each in self.reflectors)

    @property
    def reflectors(self) -> Sequence[Reflector]:
        return tuple(self._reflectors.values())

    def sink(self, namespace: str) -> S | None:
        """What holds the objects of this namespace; None where it is not served."""
        return self._sinks.get(self._served(namespace))

    def synced_sink(self, namespace: str) -> S | None:
        """The same, and None until it has held a complete list of this namespace.

        A namespace that cannot be listed, such as one that was deleted, hides no other.
        """
        reflector = self._reflectors.get(self._served(namespace))
        return self.sink(namespace) if reflector is not None and reflector.is_synced else None

    def _served(self, namespace: str) -> str:
        return "" if "" in self._sinks else namespace


@final
class Caches:
    """Owner of the reflectors; made within the event loop."""

    def __init__(
        self,
        client: KubeClient,
        namespaces: Sequence[str],
        random: RandomSource,
        pace: Pace = DEFAULT_PACE,
    ) -> None:
        """`namespaces` is empty for all of them."""
        self._client = client
        self._namespaces = tuple(namespaces) or ("",)
        self._pace = pace
        self._random = random
        self.on_cluster: OnCluster = _ignore
        """Told of the cluster of an owned object that changed."""
        self.on_master: OnCluster = _ignore
        """Told of a cluster in which another member has become master."""
        self.on_placement: Callable[[], None] = lambda: None
        """Told that a node or a storage class has changed."""
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
        """Whether the owned objects of all clusters are known."""
        return all(reflection.is_synced for reflection in self.owned.values())

    # ------------------------------------------------------------------ what was written

    def written(self, item: Json) -> None:
        """The API returned this object to a write, or to a read that found the caches stale."""
        store = self._owned_store(item["kind"], item["metadata"].get("namespace", ""))
        if store is not None:
            store.put(item)

    def gone(self, ref: ObjectRef) -> None:
        """The API said that this object does not exist."""
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
        """A master writes its slice when it begins to lead."""
        labels = item["metadata"].get("labels") or {}
        found = _GROUP_SERVICE.fullmatch(labels.get(_SERVICE_LABEL, ""))
        if found is not None:
            self.on_master(name_of(item)[0], found[1])


def _ignore(namespace: str, cluster: str) -> None:
    del namespace, cluster
