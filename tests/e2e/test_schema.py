"""A real API server accepts and refuses values of every field as the model says."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import final

import pytest
import yaml

from gantrymq.e2e.kubectl import KubectlError, Namespace, environment, missing_cluster, run
from gantrymq.operator.resources.names import API_VERSION
from gantrymq.resource_cases import cluster, topic
from gantrymq.resource_cases.case import Case, Json

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "kubernetes").glob("*.yaml"))
CASES = (*cluster.CASES, *topic.CASES)


@pytest.fixture(scope="module")
def namespace() -> Iterator[Namespace]:
    missing = missing_cluster()
    if missing is not None:
        pytest.fail(missing)
    run("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    names = [f"crd/{name}.gantrymq.dev" for name in ("brokerclusters", "topics")]
    run("wait", "--for=condition=Established", *names)
    made = Namespace(f"schema-{uuid.uuid4().hex[:8]}").create()
    yield made
    # Not awaited: the resources of this test have no pods, and an API server may run alone.
    run("delete", "namespace", made.name, "--wait=false")


@pytest.fixture(scope="module")
def api(namespace: Namespace) -> Iterator[Api]:
    """Answers in milliseconds what a process of kubectl takes a second for: there are 300 cases."""
    command = ["kubectl", "proxy", "--port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as proxy:
        assert proxy.stdout is not None
        try:
            yield Api(proxy.stdout.readline().split()[-1], namespace.name)
        finally:
            proxy.terminate()


@final
class Api:
    """Creates and changes resources without keeping the result."""

    def __init__(self, address: str, namespace: str) -> None:
        self._folder = f"http://{address}/apis/{API_VERSION}/namespaces/{namespace}"

    def causes(self, case: Case) -> list[tuple[str, str]]:
        """The fields and words of the refusal; none when the resource is accepted."""
        plural = f"{case.kind.lower()}s"
        if case.before is None:
            return self._ask("POST", f"{plural}?dryRun=All", case.resource())
        assert self._ask("POST", plural, case.resource(case.before)) == []
        try:
            one = f"{plural}/{case.name}"
            return self._ask("PATCH", f"{one}?dryRun=All", {"spec": case.spec})
        finally:
            assert self._ask("DELETE", f"{plural}/{case.name}", {}) == []

    def _ask(self, method: str, path: str, body: Json) -> list[tuple[str, str]]:
        kind = "merge-patch+json" if method == "PATCH" else "json"
        request = urllib.request.Request(  # noqa: S310 - the proxy on loopback
            f"{self._folder}/{path}",
            json.dumps(body).encode(),
            {"Content-Type": f"application/{kind}"},
            method=method,
        )
        try:
            urllib.request.urlopen(request, timeout=30).close()  # noqa: S310
        except urllib.error.HTTPError as error:
            status = json.load(error)
            assert status["reason"] == "Invalid", status
            return [(each["field"], each["message"]) for each in status["details"]["causes"]]
        return []


@pytest.mark.parametrize("case", [case for case in CASES if case.is_accepted], ids=str)
def test_the_api_server_accepts(api: Api, case: Case) -> None:
    assert api.causes(case) == []


@pytest.mark.parametrize("case", [case for case in CASES if not case.is_accepted], ids=str)
def test_the_api_server_refuses(api: Api, case: Case) -> None:
    causes = api.causes(case)
    told = [words for field, words in causes if dotted(field) == case.refused]
    assert any(case.words in words for words in told), causes


def dotted(field: str) -> str:
    """A field with the names in maps and the numbers in lists after a dot."""
    return re.sub(r"\[([^\]]*)\]", r".\1", field)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_api_server_accepts_an_example(namespace: Namespace, example: Path) -> None:
    namespace.run("create", "--dry-run=server", "--validate=strict", "-f", str(example))


def test_the_api_server_refuses_unknown_fields(namespace: Namespace) -> None:
    resource = Case("", cluster.KIND, {"group": 2}).resource()
    with pytest.raises(KubectlError, match=r'unknown field "spec\.group"'):
        namespace.run("create", "--dry-run=server", "-f", "-", given=json.dumps(resource))


def test_the_api_server_fills_defaults(namespace: Namespace) -> None:
    resource = Case("", cluster.KIND, {}).resource()
    del resource["spec"]
    told = namespace.run(
        "create", "--dry-run=server", "-o", "json", "-f", "-", given=json.dumps(resource)
    )
    spec = json.loads(told)["spec"]
    assert (spec["groups"], spec["membersPerGroup"], spec["replication"]) == (1, 2, "sync")
    assert spec["storage"] == {"size": "20Gi", "onClusterDeletion": "Retain"}
    assert spec["resources"]["broker"]["limits"] == {"memory": "1Gi"}


def test_groups_are_scaled_by_the_scale_subresource(namespace: Namespace) -> None:
    case = Case("", cluster.KIND, {"groups": 1}, name="scaled")
    namespace.run("create", "-f", "-", given=json.dumps(case.resource()))
    namespace.run("scale", "brokercluster", "scaled", "--replicas=3")
    found = namespace.get("bc", "scaled")
    assert found is not None
    assert found["spec"]["groups"] == 3
    with pytest.raises(KubectlError, match=r"spec\.groups"):
        namespace.run("scale", "brokercluster", "scaled", "--replicas=65")


def test_short_names_and_the_category_find_both_kinds(namespace: Namespace) -> None:
    of_topic = Case("", topic.KIND, {"cluster": "orders"}, name="listed").resource()
    of_cluster = Case("", cluster.KIND, {}, name="listed").resource()
    for resource in (of_topic, of_cluster):
        namespace.run("create", "-f", "-", given=json.dumps(resource))
    assert "listed" in namespace.run("get", "bc", "listed")
    assert "listed" in namespace.run("get", "mqt", "listed")
    told = namespace.run("get", "gantry", "-o", "name").split()
    assert {"brokercluster.gantrymq.dev/listed", "topic.gantrymq.dev/listed"} <= set(told)


def test_kubectl_explains_fields_in_sentences(namespace: Namespace) -> None:
    words = " ".join(namespace.run("explain", "bc.spec.minInSyncReplicas").split())
    assert "must have a message before it is acknowledged" in words
    assert "Default: 2, or 1 where a group has one member." in words


def test_examples_are_found() -> None:
    kinds = [each["kind"] for path in EXAMPLES for each in yaml.safe_load_all(path.read_text())]
    assert {"BrokerCluster", "Topic", "Pod"} == set(kinds)
