"""Models how kubelets bring a changed replication Secret to its files in pods after a delay.

A new pod gets the Secret as it is. Later a kubelet brings a change when it comes to it: in each
step the kubelets of all nodes but one, in turn, and none on a node that is down or held.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final, final

from gantrymq.base.group_secret import fingerprint
from gantrymq.operator.kube.watch.reducers import lines_of_secret
from gantrymq.operator.plan.actions import Json
from gantrymq.operator_model.api import Api
from gantrymq.operator_model.controllers import is_on_ready_node, runs

_GROUP: Final = "gantrymq.dev/group"


@final
class SecretFiles:
    """The file of each pod with a broker, by the uid of the pod."""

    def __init__(self, api: Api, secret: str) -> None:
        self.held: set[str] = set()
        """Nodes whose kubelet brings no change."""
        self._api = api
        self._files: dict[str, tuple[str, ...]] = {}
        self._secret = secret
        self._turn = 0

    def step(self) -> None:
        """Kubelets write the Secret to their pods."""
        lines = self._lines()
        if lines is None:
            return
        nodes = sorted(each["metadata"]["name"] for each in self._api.of_kind("Node"))
        self._turn += 1
        late = {nodes[self._turn % len(nodes)], *self.held}
        for pod in self._brokers():
            is_new = pod["metadata"]["uid"] not in self._files
            if is_on_ready_node(self._api, pod) and (is_new or pod["spec"]["nodeName"] not in late):
                self._files[pod["metadata"]["uid"]] = lines

    def is_about_to_step(self) -> bool:
        """Whether a kubelet has a change that it has not brought yet, and will."""
        lines = self._lines()
        return lines is not None and any(
            self._files.get(pod["metadata"]["uid"]) not in (None, lines)
            and is_on_ready_node(self._api, pod)
            and pod["spec"]["nodeName"] not in self.held
            for pod in self._brokers()
        )

    def known(self) -> dict[str, tuple[str, ...]]:
        """What brokers answer that can be asked."""
        return {
            pod["metadata"]["name"]: self._files[pod["metadata"]["uid"]]
            for pod in self._brokers()
            if pod["metadata"]["uid"] in self._files
            and runs(pod)
            and is_on_ready_node(self._api, pod)
        }

    def must_believe_each_other(self) -> None:
        """Any two members of a group can connect: each accepts what the other one uses."""
        by_group: dict[str, list[Json]] = {}
        for pod in self._brokers():
            if pod["metadata"]["uid"] in self._files:
                by_group.setdefault(pod["metadata"]["labels"][_GROUP], []).append(pod)
        for pods in by_group.values():
            for pair in combinations(pods, 2):
                one, other = (self._files[each["metadata"]["uid"]] for each in pair)
                names = [each["metadata"]["name"] for each in pair]
                assert one[0] in other, f"{names} do not believe each other: {one}, {other}"
                assert other[0] in one, f"{names} do not believe each other: {one}, {other}"

    def _lines(self) -> tuple[str, ...] | None:
        content = self._api.get("Secret", self._secret)
        return None if content is None else tuple(map(fingerprint, lines_of_secret(content)))

    def _brokers(self) -> list[Json]:
        pods = self._api.of_kind("Pod")
        return [pod for pod in pods if _GROUP in pod["metadata"]["labels"]]
