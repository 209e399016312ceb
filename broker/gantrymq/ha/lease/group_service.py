"""Checks whether the Kubernetes Service of a group leads clients to the master.

kube-proxy matches a Service with its EndpointSlices by port name, so a port with another name has
no endpoint, without any error. For a Service with a selector Kubernetes adds slices of its own,
which send clients to followers as well.
"""

from __future__ import annotations

from collections.abc import Collection

from gantrymq.ha.lease.lease_object import OBJECT_BYTES_MAX
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import list_of, object_of, text_field


def mistake(data: bytes, name: str, ports: Collection[str]) -> str | None:
    """Why clients do not reach the master by this Service, or None if they do, provided that they
    use one of these ports. Raises RemoteError if the data is not a Service."""
    content = object_of(javajson.loads(data, OBJECT_BYTES_MAX), "the Service")
    spec = object_of(content.get("spec") or {}, "spec")
    if spec.get("selector"):
        return (
            f"the Service {name} has a selector, so Kubernetes also sends clients to followers:"
            " remove the selector, so that only the master determines where the Service points"
        )
    named = [object_of(each, "a port") for each in list_of(spec.get("ports") or [], "ports")]
    unknown = sorted({text_field(each, "name") or "" for each in named} - set(ports))
    if not unknown:
        return None
    names = ", ".join(repr(each) for each in unknown)
    return (
        f"the Service {name} has ports named {names}, which have no endpoint: the master publishes"
        f" the ports {', '.join(ports)}, so give the Service's ports these names"
    )
