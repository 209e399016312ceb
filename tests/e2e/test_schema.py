"""A real API server accepts and refuses values of every field as the model says."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gantrymq.e2e.kubectl import KubectlError, Namespace, missing_cluster, run
from gantrymq.resource_cases import cluster, topic
from gantrymq.resource_cases.case import Case

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


def submit(namespace: Namespace, case: Case) -> None:
    """Create the resource of a case, or change it, without keeping the result."""
    if case.before is None:
        namespace.run("create", "--dry-run=server", "-f", "-", given=json.dumps(case.resource()))
        return
    namespace.run("create", "-f", "-", given=json.dumps(case.resource(case.before)))
    patch = json.dumps({"spec": case.spec})
    try:
        namespace.run(
            "patch", case.kind, case.name, "--dry-run=server", "--type=merge", "-p", patch
        )
    finally:
        namespace.run("delete", case.kind, case.name, "--cascade=orphan")


@pytest.mark.parametrize("case", [case for case in CASES if case.is_accepted], ids=str)
def test_the_api_server_accepts(namespace: Namespace, case: Case) -> None:
    submit(namespace, case)


@pytest.mark.parametrize("case", [case for case in CASES if not case.is_accepted], ids=str)
def test_the_api_server_refuses(namespace: Namespace, case: Case) -> None:
    with pytest.raises(KubectlError) as refusal:
        submit(namespace, case)
    told = str(refusal.value)
    lines = [line for line in told.splitlines() if case.words in line]
    assert lines != [], told
    assert any(case.refused in re.sub(r"\[([^\]]*)\]", r".\1", line) for line in lines), told


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
    with pytest.raises(KubectlError, match="spec.groups"):
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
    assert {"BrokerCluster", "Topic"} == set(kinds)
