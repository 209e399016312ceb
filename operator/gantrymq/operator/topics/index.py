"""Keeps the Topics of all namespaces, reduced, by the cluster that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, final

from gantrymq.operator.topics.reading import topic_from_json
from gantrymq.operator.topics.values import TopicResource

ClusterKey: TypeAlias = tuple[str, str]
"""Namespace and name of a BrokerCluster."""

_NONE: Final[Mapping[str, TopicResource]] = {}


@final
class TopicIndex:
    """The index of reduced Topics, which a reflector fills."""

    __slots__ = ("_by_cluster", "_by_name")

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], TopicResource] = {}
        self._by_cluster: dict[ClusterKey, dict[str, TopicResource]] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    # Any: an object of the API.
    def put(self, body: Mapping[str, Any]) -> ClusterKey:
        """Store a new or changed Topic; return the cluster whose topics must be planned."""
        metadata = body.get("metadata") or {}
        place = (str(metadata.get("namespace", "")), str(metadata.get("name", "")))
        resource = topic_from_json(body, self._by_name.get(place))
        self.remove(*place)
        self._by_name[place] = resource
        key = (resource.namespace, resource.cluster)
        self._by_cluster.setdefault(key, {})[resource.name] = resource
        return key

    def remove(self, namespace: str, name: str) -> ClusterKey | None:
        """Remove a Topic; return the cluster that it named."""
        resource = self._by_name.pop((namespace, name), None)
        if resource is None:
            return None
        key = (namespace, resource.cluster)
        members = self._by_cluster[key]
        del members[name]
        if not members:
            del self._by_cluster[key]
        return key

    def of(self, namespace: str, cluster: str) -> tuple[TopicResource, ...]:
        """Return the Topics of one cluster."""
        return tuple(self._by_cluster.get((namespace, cluster), _NONE).values())

    def clusters(self) -> Iterator[ClusterKey]:
        """Yield all clusters that a Topic names, whether they exist or not."""
        return iter(tuple(self._by_cluster))
