"""A new replication secret, and TLS between the members, under the load of Java's clients.

In the long run alone (GANTRY_E2E_LONG=1): kubelets take a minute or so for each step of a secret.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gantrymq.base.group_secret import SECRETS_PATH, fingerprint, secret_lines
from gantrymq.e2e.broker_cluster import BrokerCluster
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Json, Namespace, condition, tool, wait_until
from gantrymq.e2e.operator_install import Operator
from gantrymq.e2e.scene import GROUP, Scene, check, under_load

IS_LONG: Final = os.environ.get("GANTRY_E2E_LONG") == "1"
MEMBERS: Final = (1, 2, 3)
ROTATION_SECONDS: Final = 900.0
ROUNDS_SECONDS: Final = 600.0
_ASK: Final = """\
import urllib.request
print(urllib.request.urlopen('http://127.0.0.1:5557{path}', timeout=5).read().decode())
"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not IS_LONG, reason="minutes of waiting for kubelets: GANTRY_E2E_LONG=1"),
]


@pytest.fixture
def scene(operator: Operator, java_image: str, namespace: Namespace) -> Iterator[Scene]:
    del operator, java_image
    with under_load(namespace) as made:
        yield made


@pytest.mark.timeout(3600)
def test_a_new_secret_and_tls_cut_no_link_and_lose_no_message(
    scene: Scene, figures: Figures
) -> None:
    cluster = scene.cluster
    before = _identities(cluster)
    [old] = _secret(cluster)
    scene.strike("new secret", lambda _: _rotate(cluster), moves=False)
    [new] = _secret(cluster)
    assert new != old
    assert _identities(cluster) == before, "a pod, a container or a master was replaced"
    assert _known(cluster) == [[fingerprint(new)]] * len(MEMBERS)

    scene.strike("TLS required", lambda _: _require_tls(cluster), moves=False)
    assert _modes(cluster) == {"required"}

    before = _identities(cluster)
    scene.strike("new secret, TLS", lambda _: _rotate(cluster), moves=False)
    assert _secret(cluster) != (new,)
    assert _identities(cluster) == before, "a pod, a container or a master was replaced"

    effects = {each.kind: each for each in check(scene, figures)}
    for kind in ("new secret", "new secret, TLS"):
        assert effects[kind].failed == 0
        assert not effects[kind].has_moved


def _rotate(cluster: BrokerCluster) -> None:
    words = ("rotate-secret", cluster.name, "-n", cluster.namespace.name)
    program = str(Path(sys.executable).parent / "kubectl-gantry")
    tool(program, *words, seconds=ROTATION_SECONDS)


def _require_tls(cluster: BrokerCluster) -> None:
    """Two rounds of restarts: until every pod has the last configuration and nothing is left."""
    change = {"spec": {"replicationTls": "required"}}
    cluster.namespace.patch("brokercluster", cluster.name, change)

    def is_done() -> bool:
        resource = cluster.resource()
        is_quiet = condition(resource, "Quiesced").get("status") == "True"
        return is_quiet and cluster.is_whole() and _modes(cluster) == {"required"}

    wait_until(is_done, "all members have TLS", ROUNDS_SECONDS, cluster.describe)


def _identities(cluster: BrokerCluster) -> Json:
    """The running pods and containers, the master and its epoch."""
    lease = cluster.lease(GROUP)
    assert lease is not None
    found: Json = {"epoch": lease["metadata"]["annotations"]["gantrymq.dev/epoch"]}
    for member in MEMBERS:
        pod = cluster.pod(GROUP, member)
        assert pod is not None
        restarts = [each["restartCount"] for each in pod["status"]["containerStatuses"]]
        found[pod["metadata"]["name"]] = (pod["metadata"]["uid"], restarts)
    return found


def _secret(cluster: BrokerCluster) -> tuple[bytes, ...]:
    found = cluster.namespace.get("secret", f"{cluster.name}-replication")
    assert found is not None
    return secret_lines(base64.b64decode(found["data"]["secret"]))


def _known(cluster: BrokerCluster) -> list[list[str]]:
    """The secrets that each member has, as it says itself."""
    program = _ASK.format(path=SECRETS_PATH)
    pods = [cluster.pod_name(GROUP, member) for member in MEMBERS]
    asked = [cluster.namespace.run("exec", pod, "--", "python3", "-c", program) for pod in pods]
    return [text.split() for text in asked]


def _modes(cluster: BrokerCluster) -> set[str]:
    """What the configuration of each pod says of TLS."""
    config = cluster.namespace.get("configmap", f"{cluster.name}-{GROUP}")
    assert config is not None
    found = set()
    for member in MEMBERS:
        pod = cluster.pod(GROUP, member)
        entry = (
            (pod or {"metadata": {}})["metadata"]
            .get("annotations", {})
            .get("gantrymq.dev/config", "")
        )
        lines = config["data"].get(entry, "").splitlines()
        found |= {line.partition("=")[2] for line in lines if line.startswith("haTls=")} or {""}
    return found
