"""Creates, awaits, inspects and faults one BrokerCluster under test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, final

from gantrymq.e2e.kubectl import Json, Namespace, is_true, wait_until

READY_SECONDS: Final = 120.0
BROKER_PORT: Final = 10911
# In the image nothing but Python sends signals. The broker is the guard's only child.
_KILL_BROKER: Final = """\
import os, pathlib, signal
for each in pathlib.Path('/proc').iterdir():
    if each.name.isdecimal() and int(each.name) > 1:
        parent = int((each / 'stat').read_text().rpartition(')')[2].split()[1])
        name = (each / 'cmdline').read_bytes()
        if parent == 1 and b'broker' in name:
            os.kill(int(each.name), signal.SIGKILL)
"""


@final
class BrokerCluster:
    """A BrokerCluster by the API, as its users see it."""

    def __init__(self, namespace: Namespace, name: str) -> None:
        self.namespace = namespace
        self.name = name

    def apply(self, **spec: Any) -> None:
        self.namespace.apply(
            {
                "apiVersion": "gantrymq.dev/v1",
                "kind": "BrokerCluster",
                "metadata": {"name": self.name},
                "spec": spec,
            }
        )

    def resource(self) -> Json | None:
        return self.namespace.get("brokercluster", self.name)

    def is_whole(self) -> bool:
        """Whether every group has a master and every member is in sync."""
        resource = self.resource()
        return is_true(resource, "Ready") and is_true(resource, "InSync")

    def wait_until_whole(self, seconds: float = READY_SECONDS) -> float:
        return wait_until(self.is_whole, f"{self.name} is whole", seconds, self.describe)

    @property
    def name_servers(self) -> str:
        """What clients inside of the cluster use."""
        resource = self.resource()
        assert resource is not None
        text: str = resource["status"]["nameServers"]
        return text

    def allow_lease_edits(self) -> None:
        """Exempt the cluster's Leases from the chart's admission policy; the API server knows of it
        a moment later."""
        allowed = {"metadata": {"annotations": {"gantrymq.dev/allow-lease-edits": "true"}}}
        self.namespace.patch("brokercluster", self.name, allowed)

    def lease(self, group: str = "broker-0") -> Json | None:
        return self.namespace.get("lease", f"{self.name}-{group}")

    def holder(self, group: str = "broker-0") -> int:
        """The member that holds the group's Lease; 0 for none."""
        lease = self.lease(group)
        return int((lease or {}).get("spec", {}).get("holderIdentity") or 0)

    def pod_name(self, group: str, member: int) -> str:
        return f"{self.name}-{group}-{member - 1}"

    def pod(self, group: str, member: int) -> Json | None:
        return self.namespace.get("pod", self.pod_name(group, member))

    def master_address(self, group: str = "broker-0") -> str:
        """The master's own address, which the test's host reaches directly."""
        pod = self.pod(group, self.holder(group))
        assert pod is not None
        return f"{pod['status']['podIP']}:{BROKER_PORT}"

    # ------------------------------------------------------------------ faults

    def kill_broker(self, pod: str) -> None:
        """kill -9 of the broker's process; its guard lives and reports the death."""
        self.namespace.run("exec", pod, "--", "python3", "-c", _KILL_BROKER)

    def delete_pod(self, pod: str, *, by_force: bool) -> None:
        how = ("--force", "--grace-period=0") if by_force else ("--wait=false",)
        self.namespace.run("delete", "pod", pod, *how)

    # ------------------------------------------------------------------ reports

    def describe(self) -> str:
        """What the cluster looks like, for a test that failed."""
        shown = [json.dumps((self.resource() or {}).get("status"), indent=1)]
        shown.append(self.namespace.run("get", "pods,pvc,svc,lease", "-o", "wide"))
        shown.append(self.namespace.run("get", "events", "--sort-by=.lastTimestamp"))
        return "\n".join(shown)


def topic(name: str, cluster: str, **spec: Any) -> Json:
    """A Topic resource."""
    return {
        "apiVersion": "gantrymq.dev/v1",
        "kind": "Topic",
        "metadata": {"name": name.lower()},
        "spec": {"cluster": cluster, **spec},
    }


def wait_for_topics(namespace: Namespace, names: Sequence[str], seconds: float = 60.0) -> float:
    """Until these Topics are Ready."""

    def are_ready() -> bool:
        found = {each["metadata"]["name"]: each for each in namespace.list("topics")}
        return all(is_true(found.get(name), "Ready") for name in names)

    return wait_until(are_ready, f"topics {', '.join(names[:5])} are Ready", seconds,
                      lambda: namespace.run("get", "topics", "-o", "wide"))  # fmt: skip
