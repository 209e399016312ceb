"""Where the group's Service leads: the one EndpointSlice (discovery.k8s.io/v1) that its master
writes itself. The Service has no selector, so nobody else writes any.

    metadata.name                                <service>-master
    metadata.labels  kubernetes.io/service-name  the Service
    metadata.annotations  gantrymq.dev/epoch     of the master that wrote it
    endpoints                                    the master's address, alone
    ports                                        broker, fast, ha

Invariant: it never goes back to a lower epoch: a master that does not know yet that it was replaced
cannot take the clients along.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.lease_object import OBJECT_BYTES_MAX, PREFIX, ObjectName
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, JsonObject, object_of, required_text_field, text_field

API_VERSION: Final = "discovery.k8s.io/v1"

_SERVICE: Final = "kubernetes.io/service-name"
_MANAGER: Final = "endpointslice.kubernetes.io/managed-by"
_EPOCH: Final = f"{PREFIX}epoch"
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")


@final
@dataclass(frozen=True, slots=True)
class Endpoint:
    """Of a master."""

    epoch: int
    ip: str
    ports: Mapping[str, int]
    """By their names in the Service."""


@final
@dataclass(frozen=True, slots=True)
class EndpointSlice:
    """As it was read."""

    epoch: int
    content: JsonObject


def name(service: str) -> str:
    """Of the one slice of a Service."""
    return f"{service}-master"


def read(data: bytes) -> EndpointSlice:
    """What the API answered; RemoteError says what of it cannot be taken."""
    content = object_of(javajson.loads(data, OBJECT_BYTES_MAX), "the EndpointSlice")
    kind = text_field(content, "kind")
    if kind != "EndpointSlice":
        raise RemoteError(f"the API answered with {kind!r} where an EndpointSlice belongs")
    metadata = object_of(content.get("metadata"), "metadata")
    required_text_field(metadata, "resourceVersion")
    annotations = object_of(metadata.get("annotations") or {}, "annotations")
    epoch = text_field(annotations, _EPOCH) or "0"
    if not _NUMBER.fullmatch(epoch):
        raise RemoteError(
            f"the EndpointSlice's annotation {_EPOCH} is {epoch[:100]!r}, and no number: delete the"
            " EndpointSlice, and the master makes it anew"
        )
    return EndpointSlice(int(epoch), content)


def encode(endpoint: Endpoint, before: EndpointSlice | None, place: ObjectName) -> bytes | None:
    """The slice of this Service with nobody but this endpoint; None: it says so already.

    RemoteError where it is a newer master's.
    """
    content: JsonObject = dict(before.content) if before else {}
    if before is not None and before.epoch > endpoint.epoch:
        raise RemoteError(
            f"the Service {place.name} leads to the master of epoch {before.epoch}, and this one is"
            f" of epoch {endpoint.epoch}; where the group was made anew, delete the EndpointSlice"
            f" {name(place.name)} of the old one"
        )
    said = _said(endpoint, object_of(content.get("metadata") or {}, "metadata"), place)
    if before is not None and all(content.get(key) == value for key, value in said.items()):
        return None
    return javajson.dumps_standard(content | said)


def _said(endpoint: Endpoint, metadata: JsonObject, place: ObjectName) -> JsonObject:
    labels = object_of(metadata.get("labels") or {}, "labels")
    annotations = object_of(metadata.get("annotations") or {}, "annotations")
    is_v6 = ipaddress.ip_address(endpoint.ip).version == 6
    ports: list[Json] = [
        {"name": port, "port": number, "protocol": "TCP"} for port, number in endpoint.ports.items()
    ]
    ready: JsonObject = {"ready": True, "serving": True, "terminating": False}
    return {
        "apiVersion": API_VERSION,
        "kind": "EndpointSlice",
        "metadata": metadata
        | {
            "namespace": place.namespace,
            "name": name(place.name),
            "labels": labels | {_SERVICE: place.name, _MANAGER: "gantrymq.dev"},
            "annotations": annotations | {_EPOCH: str(endpoint.epoch)},
        },
        "addressType": "IPv6" if is_v6 else "IPv4",
        "endpoints": [{"addresses": [endpoint.ip], "conditions": ready}],
        "ports": ports,
    }
