"""A secure cluster of a few lines: clients need its account and TLS, and the operator has both."""

from __future__ import annotations

import base64
import json
from typing import Final

import pytest
import yaml

from gantrymq.e2e.broker_cluster import BrokerCluster, topic, wait_for_topics
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Json, KubectlError, Namespace, condition, wait_until
from gantrymq.e2e.operator_install import Operator

NAME: Final = "safe"
TOPIC: Final = "Secrets"
CLIENT: Final = "client"
REFUSED_SECONDS: Final = 60.0
ROTATION_SECONDS: Final = 240.0
"""Kubelets bring a changed Secret within a minute or two."""
SERVERS: Final = f"{NAME}-nameserver:9876"
TLS: Final = ("--tls", "/etc/gantry-ca/tls.properties")
ACCOUNT: Final = "ROCKETMQ_HOME=/etc/gantry-client"


@pytest.fixture
def cluster(operator: Operator, images: dict[str, str], namespace: Namespace) -> BrokerCluster:
    """Made of the profile alone, with one Topic, and a pod for clients."""
    del operator
    made = BrokerCluster(namespace, NAME)
    made.apply(security={"profile": "secure"}, nameServers=1, storage={"size": "1Gi"})
    namespace.apply(topic(TOPIC, NAME, topicName=TOPIC))
    made.wait_until_whole()
    wait_for_topics(namespace, [TOPIC.lower()])
    namespace.apply(client_pod(images["broker"]))
    wait_until(
        lambda: condition(namespace.get("pod", CLIENT), "Ready").get("status") == "True",
        "the pod for clients runs", REFUSED_SECONDS,
    )  # fmt: skip
    return made


@pytest.mark.e2e
@pytest.mark.timeout(900)
def test_a_secure_cluster_serves_those_with_its_account_over_tls_alone(
    cluster: BrokerCluster, figures: Figures
) -> None:
    namespace = cluster.namespace
    resource = cluster.resource()
    assert resource is not None
    assert resource["status"]["securityProfile"] == "secure"
    for pod in namespace.list("pods", {"app.kubernetes.io/instance": NAME}):
        assert "is open on" not in namespace.run("logs", pod["metadata"]["name"])

    assert is_refused(namespace, "plain")
    assert is_refused(namespace, "without an account", tls=TLS)
    assert is_refused(namespace, "without TLS", home=ACCOUNT)
    send(namespace, "with both", tls=TLS, home=ACCOUNT)
    assert "with both" in read(namespace)
    with pytest.raises(KubectlError, match=r"(?i)admin"):
        run(namespace, "updateTopic", "-c", NAME, "-t", "Forbidden", tls=TLS, home=ACCOUNT)

    before = containers(cluster)
    new = rotate(namespace)
    seconds = wait_until(
        lambda: send_works(namespace, new), "the new key is good", ROTATION_SECONDS
    )
    wait_until(lambda: is_refused(namespace, "old key", tls=TLS, home=ACCOUNT),
               "the old key is refused", ROTATION_SECONDS)  # fmt: skip
    assert containers(cluster) == before, "a server was restarted"

    cluster.wait_until_whole()
    cluster.delete_pod(cluster.pod_name("broker-0", cluster.holder()), by_force=True)
    wait_until(lambda: not cluster.is_whole(), "the loss is seen", 60.0, cluster.describe)
    cluster.wait_until_whole()
    wait_until(lambda: send_works(namespace, new), "the new master serves", 60.0, cluster.describe)
    figures.keep(f"another key of an account is good after {seconds:.0f} s", seconds=seconds)


# ------------------------------------------------------------------ clients


def run(namespace: Namespace, *words: str, tls: tuple[str, ...] = (), home: str = "X=") -> str:
    """Run a command of Gantry in the pod for clients."""
    command = ("env", home, "gantry", words[0], "-n", SERVERS, *words[1:], *tls)
    return namespace.run("exec", CLIENT, "--", *command)


def send(namespace: Namespace, body: str, *, tls: tuple[str, ...] = (), home: str = "X=") -> str:
    told = run(namespace, "sendMessage", "-t", TOPIC, "-p", body, tls=tls, home=home)
    if "SEND_OK" not in told:
        raise KubectlError(told)
    return told


def is_refused(
    namespace: Namespace, body: str, *, tls: tuple[str, ...] = (), home: str = "X="
) -> bool:
    """Whether a client that has no more than this cannot send."""
    try:
        send(namespace, body, tls=tls, home=home)
    except KubectlError:
        return True
    return False


def read(namespace: Namespace) -> str:
    words = ("consumeMessage", "-t", TOPIC, "-c", "64")
    return run(namespace, *words, tls=TLS, home=ACCOUNT)


def send_works(namespace: Namespace, secret: str) -> bool:
    """Whether this secret key is good for sends."""
    keys = f"mkdir -p /tmp/new/conf && printf 'accessKey: application\nsecretKey: {secret}\n'"
    namespace.run("exec", CLIENT, "--", "sh", "-c", f"{keys} > /tmp/new/conf/tools.yml")
    return not is_refused(namespace, "new key", tls=TLS, home="ROCKETMQ_HOME=/tmp/new")


# ------------------------------------------------------------------ objects


def rotate(namespace: Namespace) -> str:
    """Give the account of applications another secret key, as an administrator does."""
    found = namespace.get("secret", f"{NAME}-accounts")
    assert found is not None
    rules = yaml.safe_load(base64.b64decode(found["data"]["plain_acl.yml"]))
    [account] = [each for each in rules["accounts"] if each["accessKey"] == "application"]
    account["secretKey"] = "another-key-of-the-application"
    content = base64.b64encode(json.dumps(rules).encode()).decode()  # JSON is YAML
    namespace.patch("secret", f"{NAME}-accounts", {"data": {"plain_acl.yml": content}})
    return str(account["secretKey"])


def containers(cluster: BrokerCluster) -> Json:
    """Which pods and containers run."""
    pods = cluster.namespace.list("pods", {"app.kubernetes.io/instance": NAME})
    return {
        pod["metadata"]["uid"]: [
            each["restartCount"] for each in pod["status"]["containerStatuses"]
        ]
        for pod in pods
    }


def client_pod(image: str) -> Json:
    """A pod with the account of applications and what they trust, as their own pods have them."""
    folders = {"client": "/etc/gantry-client/conf", "ca": "/etc/gantry-ca", "tmp": "/tmp"}  # noqa: S108
    container = {
        "name": CLIENT,
        "image": image,
        "command": ["sleep", "3600"],
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in folders.items()],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10911,
            "fsGroup": 10911,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "client", "secret": {"secretName": f"{NAME}-client"}},
            {"name": "ca", "configMap": {"name": f"{NAME}-ca"}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": CLIENT}, "spec": spec}
