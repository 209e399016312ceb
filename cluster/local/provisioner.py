"""Provides the volumes of the storage class `local-ssd`: folders on the disks of the nodes.

A claim whose pod is scheduled to a node gets a folder on that node's disk and a volume of type
`local` (which, unlike `hostPath`, honours fsGroup). A volume whose claim no longer exists is
deleted with its folder. The loop compares the actual state with the desired one, so it needs no
memory and survives any failure of the API server.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.settings import API_PORT, HOST_ADDRESS, VOLUMES, Layout

PROVISIONER = "gantry.local/local-ssd"
PROVISIONER_KEYS = (
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)
NODE_KEY = "volume.kubernetes.io/selected-node"
OWNER_KEY = "pv.kubernetes.io/provisioned-by"
HOSTNAME_KEY = "kubernetes.io/hostname"
PERIOD_S = 0.5
REQUEST_TIMEOUT_S = 30.0  # more than any latency that a test gives the API server

Resource = dict[str, Any]


@dataclass(frozen=True)
class Provision:
    """Create the folder on the node's disk, then the volume."""

    node: str
    volume: Resource


@dataclass(frozen=True)
class Reclaim:
    """Remove the folder from the node's disk, then the volume."""

    node: str
    name: str


def plan(claims: Sequence[Resource], volumes: Sequence[Resource]) -> list[Provision | Reclaim]:
    """The steps that make the volumes match the claims."""
    existing = {volume["metadata"]["name"] for volume in volumes}
    actions: list[Provision | Reclaim] = []
    for claim in claims:
        node = (claim["metadata"].get("annotations") or {}).get(NODE_KEY)
        if node and waits_for_us(claim) and volume_name(claim) not in existing:
            actions.append(Provision(node, volume_for(claim, node)))
    actions += [
        Reclaim(node_of(volume), volume["metadata"]["name"])
        for volume in volumes
        if is_released(volume)
    ]
    return actions


def waits_for_us(claim: Resource) -> bool:
    annotations = claim["metadata"].get("annotations") or {}
    ours = any(annotations.get(key) == PROVISIONER for key in PROVISIONER_KEYS)
    pending = claim.get("status", {}).get("phase") == "Pending"
    leaving = "deletionTimestamp" in claim["metadata"]
    return ours and pending and not leaving and not claim["spec"].get("volumeName")


def is_released(volume: Resource) -> bool:
    metadata = volume["metadata"]
    ours = (metadata.get("annotations") or {}).get(OWNER_KEY) == PROVISIONER
    deletes = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
    released = volume.get("status", {}).get("phase") == "Released"
    return ours and deletes and released and "deletionTimestamp" not in metadata


def volume_name(claim: Resource) -> str:
    return f"pvc-{claim['metadata']['uid']}"


def node_of(volume: Resource) -> str:
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return str(terms[0]["matchExpressions"][0]["values"][0])


def volume_for(claim: Resource, node: str) -> Resource:
    """The volume for a claim: reserved for it, and tied to the node."""
    metadata, spec, name = claim["metadata"], claim["spec"], volume_name(claim)
    owner = {key: metadata[key] for key in ("name", "namespace", "uid")}
    on_node = {"key": HOSTNAME_KEY, "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {OWNER_KEY: PROVISIONER}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **owner},
            "local": {"path": f"{VOLUMES}/{name}"},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]},
            },
        },
    }


class ApiClient:
    """One connection to the API server with the administrator's certificate."""

    def __init__(self, layout: Layout) -> None:
        tls = ssl.create_default_context(cafile=layout.pki / "ca.crt")
        tls.load_cert_chain(layout.pki / "admin.crt", layout.pki / "admin.key")
        self._connection = http.client.HTTPSConnection(
            HOST_ADDRESS, API_PORT, context=tls, timeout=REQUEST_TIMEOUT_S
        )

    def list(self, resource: str) -> list[Resource]:
        # version 0 is answered from the API server's memory, which is recent enough for a loop
        found: list[Resource] = self._request("GET", f"/api/v1/{resource}?resourceVersion=0")[
            "items"
        ]
        return found

    def create_volume(self, volume: Resource) -> None:
        self._request("POST", "/api/v1/persistentvolumes", volume)

    def delete_volume(self, name: str) -> None:
        self._request("DELETE", f"/api/v1/persistentvolumes/{name}")

    def close(self) -> None:
        self._connection.close()

    def _request(self, method: str, path: str, body: Resource | None = None) -> Resource:
        encoded = json.dumps(body) if body is not None else None
        headers = {"Content-Type": "application/json"}
        self._connection.request(method, path, encoded, headers)
        response = self._connection.getresponse()
        answer: Resource = json.loads(response.read())
        # the object was created or deleted in between; the next round sees it
        if response.status >= 400 and response.status not in {404, 409}:
            raise OSError(f"{method} {path}: {response.status} {answer.get('message')}")
        return answer


def execute(action: Provision | Reclaim, api: ApiClient, layout: Layout) -> None:
    name = action.name if isinstance(action, Reclaim) else action.volume["metadata"]["name"]
    folder = Path(f"{layout.state}/nodes/{action.node}/disk{VOLUMES}/{name}")
    match action:
        case Provision(node, volume):
            folder.mkdir(parents=True, exist_ok=True)
            api.create_volume(volume)
            print(f"provisioned volume name={name} node={node}", flush=True)
        case Reclaim(node, _):
            shutil.rmtree(folder, ignore_errors=True)  # a node's disk may be gone
            api.delete_volume(name)
            print(f"reclaimed volume name={name} node={node}", flush=True)


def run(layout: Layout) -> None:
    api = ApiClient(layout)
    while True:
        try:
            claims = api.list("persistentvolumeclaims")
            for action in plan(claims, api.list("persistentvolumes")):
                execute(action, api, layout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(f"API server unreachable error={error!r}", flush=True)
            api.close()  # the next request opens a new connection
        time.sleep(PERIOD_S)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    state = parser.parse_args().state
    run(Layout(state=state, cache=state))


if __name__ == "__main__":
    main()
