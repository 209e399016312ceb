"""Models the StatefulSet controller, the scheduler and the kubelet, one step at a time."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.view.nodes import is_node_ready
from gantrymq.operator_model.api import Api, time_text

BAD: Final = "bad"
"""An image of this name cannot be pulled, a setting of this name makes a broker end at once."""
HOST: Final = "kubernetes.io/hostname"
_OWNER: Final = ("name", "uid")


def step(api: Api) -> None:
    """Everything that controllers and kubelets do in one step."""
    _end_pods(api)
    for stateful_set in api.of_kind("StatefulSet"):
        _make_pods(api, stateful_set)
        _replace_one(api, stateful_set)
    _collect_orphans(api)
    for pod in api.of_kind("Pod"):
        _schedule(api, pod)
        _run(api, pod)


def node_of(api: Api, pod: Json) -> Json | None:
    return api.get("Node", pod["spec"].get("nodeName", ""))


def is_on_ready_node(api: Api, pod: Json) -> bool:
    node = node_of(api, pod)
    return node is not None and is_node_ready(node)


def _end_pods(api: Api) -> None:
    """A pod that was told to end is gone, unless its node cannot say so."""
    for pod in api.of_kind("Pod"):
        if "deletionTimestamp" not in pod["metadata"]:
            continue
        if not pod["spec"].get("nodeName") or is_on_ready_node(api, pod):
            api.remove("Pod", pod["metadata"]["name"])


def _make_pods(api: Api, stateful_set: Json) -> None:
    spec, name = stateful_set["spec"], stateful_set["metadata"]["name"]
    for ordinal in range(spec["replicas"]):
        pod = f"{name}-{ordinal}"
        for template in spec.get("volumeClaimTemplates", ()):
            _make_claim(api, template, f"{template['metadata']['name']}-{pod}")
        if api.get("Pod", pod) is None:
            _make_pod(api, stateful_set, pod)
    for each in _pods_of(api, stateful_set):
        if int(each["metadata"]["name"].rpartition("-")[2]) >= spec["replicas"]:
            _tell_to_end(api, each)


def _make_claim(api: Api, template: Json, name: str) -> None:
    if api.get("PersistentVolumeClaim", name) is None:
        metadata = {**deepcopy(template["metadata"]), "name": name}
        body = {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}
        api.create({**body, "status": {"phase": "Bound"}})


def _make_pod(api: Api, stateful_set: Json, name: str) -> None:
    template = deepcopy(stateful_set["spec"]["template"])
    owner = {"kind": "StatefulSet", **{key: stateful_set["metadata"][key] for key in _OWNER}}
    metadata = {**template["metadata"], "name": name, "ownerReferences": [owner]}
    spec = {"terminationGracePeriodSeconds": 30, **template["spec"]}
    api.create({"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})


def _replace_one(api: Api, stateful_set: Json) -> None:
    """RollingUpdate, as the name servers have it."""
    if stateful_set["spec"]["updateStrategy"]["type"] == "OnDelete":
        return
    wanted = stateful_set["spec"]["template"]["metadata"]["annotations"]
    for pod in _pods_of(api, stateful_set):
        if any(pod["metadata"]["annotations"].get(key) != value for key, value in wanted.items()):
            _tell_to_end(api, pod)
            return


def _pods_of(api: Api, stateful_set: Json) -> list[Json]:
    uid = stateful_set["metadata"]["uid"]
    return [
        pod for pod in api.of_kind("Pod") if pod["metadata"]["ownerReferences"][0]["uid"] == uid
    ]


def _collect_orphans(api: Api) -> None:
    """Pods of a StatefulSet that is gone go too."""
    alive = {each["metadata"]["uid"] for each in api.of_kind("StatefulSet")}
    for pod in api.of_kind("Pod"):
        if pod["metadata"]["ownerReferences"][0]["uid"] not in alive:
            _tell_to_end(api, pod)


def _tell_to_end(api: Api, pod: Json) -> None:
    if "deletionTimestamp" not in pod["metadata"]:
        grace = pod["spec"]["terminationGracePeriodSeconds"]
        pod["metadata"]["deletionTimestamp"] = time_text(api.now + grace)
        api.touch(pod)


def _schedule(api: Api, pod: Json) -> None:
    if pod["spec"].get("nodeName"):
        return
    group = pod["metadata"]["labels"].get("gantrymq.dev/group")
    taken = {
        other["spec"].get("nodeName")
        for other in api.of_kind("Pod")
        if group and other["metadata"]["labels"].get("gantrymq.dev/group") == group
    }
    nodes = [node for node in api.of_kind("Node") if is_node_ready(node)]
    free = [node["metadata"]["name"] for node in nodes if node["metadata"]["name"] not in taken]
    condition = {"type": "PodScheduled", "status": "True"}
    if free:
        # The volume stays where it is: the pod goes back to its node where it can.
        pod["spec"]["nodeName"] = _home(api, pod, free)
    else:
        message = "0 nodes are available"
        condition = {"type": "PodScheduled", "status": "False", "message": message}
    pod["status"]["conditions"] = [condition]
    api.touch(pod)


def _home(api: Api, pod: Json, free: list[str]) -> str:
    claim = api.get("PersistentVolumeClaim", f"store-{pod['metadata']['name']}")
    if claim is None:
        return free[0]
    load = dict.fromkeys(free, 0)
    for other in api.of_kind("Pod"):
        if other["spec"].get("nodeName") in load:
            load[other["spec"]["nodeName"]] += 1
    home = claim["metadata"].setdefault("annotations", {}).get("node", "")
    chosen = home if home in free else min(free, key=lambda name: (load[name], name))
    claim["metadata"]["annotations"]["node"] = chosen
    return str(chosen)


def is_broken(api: Api, pod: Json) -> bool:
    """Whether its container cannot run: an image, or a setting, that is bad."""
    if BAD in pod["spec"]["containers"][0]["image"]:
        return True
    volume = next(each for each in pod["spec"]["volumes"] if each["name"] == "config")
    config = api.get("ConfigMap", volume["configMap"]["name"])
    entry = volume["configMap"]["items"][0]["key"]
    return config is None or entry not in config["data"] or f"{BAD}=" in config["data"][entry]


def _run(api: Api, pod: Json) -> None:
    if not pod["spec"].get("nodeName") or not is_on_ready_node(api, pod):
        return
    if "containerStatuses" in pod["status"] and not is_broken(api, pod):
        state: Json = {"running": {}}
    elif is_broken(api, pod):
        state = {"waiting": {"reason": "CrashLoopBackOff"}}
    else:
        state = {"running": {}}
    is_server = pod["metadata"]["labels"]["app.kubernetes.io/component"] == "nameserver"
    wanted = [{"name": "main", "state": state, "restartCount": 0}]
    if pod["status"].get("containerStatuses") != wanted:
        pod["status"]["containerStatuses"] = wanted
        pod["status"]["phase"] = "Running" if "running" in state else "Pending"
        api.touch(pod)
    if is_server:
        set_ready(api, pod, is_ready="running" in state)


def set_ready(api: Api, pod: Json, *, is_ready: bool) -> None:
    status = "True" if is_ready else "False"
    conditions = [each for each in pod["status"].get("conditions", ()) if each["type"] != "Ready"]
    wanted = [*conditions, {"type": "Ready", "status": status}]
    if pod["status"].get("conditions") != wanted:
        pod["status"]["conditions"] = wanted
        api.touch(pod)


def runs(pod: Json | None) -> bool:
    """Whether a broker runs in the pod, as far as the pod itself says."""
    if pod is None:
        return False
    return any("running" in each["state"] for each in pod["status"].get("containerStatuses", ()))
