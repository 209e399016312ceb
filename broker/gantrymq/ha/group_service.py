"""Checks the Service that leads clients to the master of a group: what of it keeps them from there.

kube-proxy joins a Service and its EndpointSlices by the names of their ports, so a port of another
name leads nowhere, and nothing says so. And a Service with a selector gets slices of Kubernetes'
own beside the master's, which lead to followers as well.
"""

from __future__ import annotations

from collections.abc import Collection

from gantrymq.ha.lease_object import OBJECT_BYTES_MAX
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import list_of, object_of, text_field


def mistake(data: bytes, name: str, ports: Collection[str]) -> str | None:
    """Why clients do not get to the master by the Service that the API answered; None: they do, if
    they use one of these ports. RemoteError where it is no Service."""
    content = object_of(javajson.loads(data, OBJECT_BYTES_MAX), "the Service")
    spec = object_of(content.get("spec") or {}, "spec")
    if spec.get("selector"):
        return (
            f"the Service {name} has a selector, so Kubernetes leads clients to followers too: take"
            " the selector out, and the master alone says where the Service leads"
        )
    named = [object_of(each, "a port") for each in list_of(spec.get("ports") or [], "ports")]
    strange = sorted({text_field(each, "name") or "" for each in named} - set(ports))
    if not strange:
        return None
    names = ", ".join(repr(each) for each in strange)
    return (
        f"the Service {name} has ports called {names}, which lead nowhere: the master publishes"
        f" ports called {', '.join(ports)}, so give the Service's ports these names"
    )
