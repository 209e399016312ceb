"""Encodes the EndpointSlice with which the master points the group's Service to itself.

The Service has no selector, so Kubernetes does not create a slice for it. The object is of
discovery.k8s.io/v1:

    metadata.name                                <service>-master
    metadata.labels  kubernetes.io/service-name  the Service
    metadata.annotations  gantrymq.dev/epoch     the epoch of the master that wrote it
    addressType                                  IPv4 or IPv6; immutable, so for another kind of
                                                 address the object is deleted and created again
    endpoints                                    only the master's address; with nodeName, for
                                                 routing by topology, and the pod, where known
    ports                                        broker, fast, ha: kube-proxy compares these with
                                                 the names of the Service's ports

Invariant: the slice never goes back to a lower epoch, so a master that does not know yet that it
was replaced cannot redirect the clients to itself. A master overwrites a higher epoch only if it
has renewed its Lease after it read the slice: then the slice was edited, or is left over from
another group.

Kubernetes sends clients to the endpoints of every slice with the label of the Service. The control
plane itself creates slices as mirrors of an Endpoints object: `foreign` finds them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.lease.lease_annotations import PREFIX
from gantrymq.ha.lease.lease_object import OBJECT_BYTES_MAX, ObjectName
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    list_of,
    object_of,
    required_text_field,
    text_field,
)

API_VERSION: Final = "discovery.k8s.io/v1"

SERVICE_LABEL: Final = "kubernetes.io/service-name"

# The number of slices that are reported; if a Service has more, they have the same cause.
FOREIGN_MAX: Final = 20

UNREADABLE_EPOCH: Final = 10**18
"""Stands for an epoch annotation that was edited and is not a number. It is above every epoch, so
the master overwrites it as it overwrites a higher epoch."""

_MIRROR: Final = "endpointslicemirroring-controller.k8s.io"
_MANAGER: Final = "endpointslice.kubernetes.io/managed-by"
_EPOCH: Final = f"{PREFIX}epoch"
_VERSION: Final = "resourceVersion"
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")


@final
@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a master."""

    epoch: int
    ip: str
    ports: Mapping[str, int]
    """By port name of the Service."""
    node: str = ""
    """The node that runs the pod; "" if it is not known."""
    pod: str = ""
    """The pod's name; "" if it is not known."""
    pod_uid: str = ""


@final
@dataclass(frozen=True, slots=True)
class EndpointSlice:
    """An EndpointSlice as it was read."""

    epoch: int
    content: JsonObject

    @property
    def version(self) -> str:
        """The API's resource version of this state of the object."""
        return required_text_field(object_of(self.content["metadata"], "metadata"), _VERSION)

    def can_become(self, endpoint: Endpoint) -> bool:
        """Whether the object can be updated for this endpoint: its address type is immutable."""
        return self.content.get("addressType") == _address_type(endpoint.ip)


def name(service: str) -> str:
    """The name of the one slice of a Service."""
    return f"{service}-master"


def read(data: bytes) -> EndpointSlice:
    """The slice in an answer of the API. Raises RemoteError if it is not a valid EndpointSlice."""
    content = object_of(javajson.loads(data, OBJECT_BYTES_MAX), "the EndpointSlice")
    kind = text_field(content, "kind")
    if kind != "EndpointSlice":
        raise RemoteError(f"the API answered with {kind!r} instead of an EndpointSlice")
    metadata = object_of(content.get("metadata"), "metadata")
    required_text_field(metadata, _VERSION)
    annotations = object_of(metadata.get("annotations") or {}, "annotations")
    text = annotations.get(_EPOCH) or "0"
    epoch = int(text) if isinstance(text, str) and _NUMBER.fullmatch(text) else UNREADABLE_EPOCH
    return EndpointSlice(epoch, content)


def foreign(data: bytes, service: str) -> tuple[str, ...]:
    """Describes the other slices of the Service and how to delete them, from a list of the slices
    with its label, or of their metadata. Raises RemoteError if the data is not such a list."""
    content = object_of(javajson.loads(data, OBJECT_BYTES_MAX), "a list of EndpointSlices")
    found = []
    for each in list_of(content.get("items") or [], "items")[:FOREIGN_MAX]:
        metadata = object_of(object_of(each, "an item").get("metadata"), "metadata")
        slice_name = required_text_field(metadata, "name")
        if slice_name != name(service):
            labels = object_of(metadata.get("labels") or {}, "labels")
            found.append(_foreign(slice_name, text_field(labels, _MANAGER) or "", service))
    return tuple(sorted(found))


def _foreign(slice_name: str, manager: str, service: str) -> str:
    if manager == _MIRROR:
        return (
            f"EndpointSlice {slice_name} mirrors the Endpoints {service}: kubectl delete endpoints"
            f" {service}"
        )
    by = f" of {manager}" if manager else ""
    return f"EndpointSlice {slice_name}{by}: kubectl delete endpointslice {slice_name}"


def encode(
    endpoint: Endpoint, before: EndpointSlice | None, object_name: ObjectName, overruled: str = ""
) -> bytes | None:
    """The slice of this Service with this endpoint only; None if `before` has that content already.
    An object of the other address type is not updated: the caller deletes it first.

    Raises RemoteError if the slice belongs to a newer master, unless it is the `overruled` version.
    """
    is_newer = before is not None and before.epoch > endpoint.epoch
    if before is not None and is_newer and before.version != overruled:
        raise RemoteError(
            f"the Service {object_name.name} points to a master {_described(before.epoch)}, and"
            f" this one is of epoch {endpoint.epoch}: it takes the Service over once it has renewed"
            " its Lease"
        )
    is_new = before is None or not before.can_become(endpoint)
    content: JsonObject = {} if before is None or is_new else dict(before.content)
    fields = _fields(endpoint, object_of(content.get("metadata") or {}, "metadata"), object_name)
    if not is_new and all(content.get(key) == value for key, value in fields.items()):
        return None
    return javajson.dumps_standard(content | fields)


def _described(epoch: int) -> str:
    return "of an epoch that is not a number" if epoch == UNREADABLE_EPOCH else f"of epoch {epoch}"


def deletion(before: EndpointSlice) -> bytes:
    """The body of a request that deletes this state of the object, and no later one."""
    conditions: JsonObject = {_VERSION: before.version}
    return javajson.dumps_standard(
        {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
    )


def _fields(endpoint: Endpoint, metadata: JsonObject, object_name: ObjectName) -> JsonObject:
    labels = object_of(metadata.get("labels") or {}, "labels")
    annotations = object_of(metadata.get("annotations") or {}, "annotations")
    ports: list[Json] = [
        {"name": port, "port": number, "protocol": "TCP"} for port, number in endpoint.ports.items()
    ]
    return {
        "apiVersion": API_VERSION,
        "kind": "EndpointSlice",
        "metadata": metadata
        | {
            "namespace": object_name.namespace,
            "name": name(object_name.name),
            "labels": labels | {SERVICE_LABEL: object_name.name, _MANAGER: "gantrymq.dev"},
            "annotations": annotations | {_EPOCH: str(endpoint.epoch)},
        },
        "addressType": _address_type(endpoint.ip),
        "endpoints": [_endpoint(endpoint, object_name)],
        "ports": ports,
    }


def _endpoint(endpoint: Endpoint, object_name: ObjectName) -> JsonObject:
    ready: JsonObject = {"ready": True, "serving": True, "terminating": False}
    fields: JsonObject = {"addresses": [endpoint.ip], "conditions": ready}
    if endpoint.node:
        fields["nodeName"] = endpoint.node
    if endpoint.pod:
        pod: JsonObject = {"kind": "Pod", "namespace": object_name.namespace, "name": endpoint.pod}
        fields["targetRef"] = pod | ({"uid": endpoint.pod_uid} if endpoint.pod_uid else {})
    return fields


def _address_type(ip: str) -> str:
    return "IPv6" if ipaddress.ip_address(ip).version == 6 else "IPv4"
