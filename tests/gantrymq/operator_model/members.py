"""Models the brokers of a group, which elect their master by the Lease and follow it.

One election, one promotion into the in-sync set, or one switchover in a step. A member is ready
when it is in the set. A member that holds the lease and does not run is replaced by one of the set;
where none of the set runs, the group waits.
"""

from __future__ import annotations

from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.view.lease import GroupLease, read_lease
from gantrymq.operator_model.api import Api, time_text
from gantrymq.operator_model.controllers import is_on_ready_node, runs, set_ready

PREFIX: Final = "gantrymq.dev/"


def step(api: Api, cluster: str, group: str) -> None:
    """One step of one group."""
    pods = {
        int(pod["metadata"]["name"].rpartition("-")[2]) + 1: pod
        for pod in api.of_kind("Pod")
        if pod["metadata"]["labels"].get("gantrymq.dev/group") == group
    }
    stateful_set = api.get("StatefulSet", f"{cluster}-{group}")
    if stateful_set is None and not pods:
        return
    count = (
        int(stateful_set["metadata"]["annotations"]["gantrymq.dev/members"]) if stateful_set else 0
    )
    alive = {
        number
        for number, pod in pods.items()
        if runs(pod) and is_on_ready_node(api, pod) and "deletionTimestamp" not in pod["metadata"]
    }
    content = api.get("Lease", f"{cluster}-{group}")
    if content is None:
        if count and len(alive) == count:
            _make_lease(api, f"{cluster}-{group}", min(alive))
    else:
        _lead(api, content, alive)
    content = api.get("Lease", f"{cluster}-{group}")
    lease = read_lease(content) if content is not None else None
    in_sync = lease.in_sync if lease is not None else frozenset()
    if lease is not None and len(in_sync) < _required(api, cluster, count):
        in_sync -= {lease.holder}  # a master that may not acknowledge is not ready
    for number, pod in pods.items():
        if is_on_ready_node(api, pod) or not pod["spec"].get("nodeName"):
            set_ready(api, pod, is_ready=number in alive & in_sync)
        else:
            set_ready(api, pod, is_ready=False)  # the node controller marks pods of a lost node


def _required(api: Api, cluster: str, members: int) -> int:
    resource = api.get("BrokerCluster", cluster)
    is_sync = resource is None or resource["spec"].get("replication", "sync") == "sync"
    return min(2, members) if is_sync else 1


def _make_lease(api: Api, name: str, master: int) -> None:
    annotations = _notes(1, frozenset({master}), 0)
    metadata = {"name": name, "annotations": annotations}
    spec = {"holderIdentity": str(master), "renewTime": time_text(api.now)}
    api.create({"kind": "Lease", "metadata": metadata, "spec": spec})


def _lead(api: Api, content: Json, alive: set[int]) -> None:
    lease = read_lease(content)
    epoch, holder, granted = lease.epoch, lease.holder, lease.granted
    in_sync = lease.in_sync
    if holder in alive:
        target = lease.switch_to
        if lease.is_switching:
            granted = lease.switch_number
            if target in in_sync & alive - lease.fenced and target != holder:
                holder, epoch = target, epoch + 1
        in_sync = _set(lease, alive, holder)
    else:
        able = in_sync & alive - lease.fenced
        if not able:
            return
        preferred = lease.preferred
        holder, epoch = preferred if preferred in able else min(able), epoch + 1
    content["spec"]["holderIdentity"] = str(holder)
    content["spec"]["renewTime"] = time_text(api.now)
    content["metadata"]["annotations"].update(_notes(epoch, in_sync, granted))
    api.touch(content)


def _set(lease: GroupLease, alive: set[int], holder: int) -> frozenset[int]:
    """A member that does not run leaves the set; one member that is back joins it."""
    kept = frozenset(lease.in_sync & alive) | {holder}
    back = sorted(alive - kept)
    return kept | frozenset(back[:1])


def _notes(epoch: int, in_sync: frozenset[int], granted: int) -> dict[str, str]:
    return {
        f"{PREFIX}epoch": str(epoch),
        f"{PREFIX}in-sync": ",".join(map(str, sorted(in_sync))),
        f"{PREFIX}granted": str(granted),
    }
