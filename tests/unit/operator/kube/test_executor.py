"""Tests how the executor creates, changes and deletes objects, each with its precondition."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from gantrymq.base.group_secret import fingerprint
from gantrymq.fakes_kube.executing import ReportedObjects, version
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.errors import ConflictError, NotFoundError, RefusedError
from gantrymq.operator.kube.executor import Execution
from gantrymq.operator.plan.actions import (
    Apply,
    ChangeSecret,
    Delete,
    Json,
    ObjectRef,
    Patch,
)


def config_map(name: str = "a", **data: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "one", "name": name},
        "data": data,
    }


def secret(key: str) -> Json:
    return config_map("s", key=key) | {"kind": "Secret"}


def pod(name: str) -> Json:
    return {"metadata": {"namespace": "one", "name": name}}


def delete_pod(server: KubeServer, name: str) -> Delete:
    found = server.get("Pod", "one", name)
    assert found is not None
    return Delete(
        ObjectRef("v1", "Pod", "one", name), found["metadata"]["uid"], "test", is_disruptive=True
    )


def data(server: KubeServer, name: str = "a", kind: str = "ConfigMap") -> Any:
    found = server.get(kind, "one", name)
    return None if found is None else found["data"]


async def test_an_object_is_made_once(server: KubeServer, reported: ReportedObjects) -> None:
    action = Apply(config_map(key="1"), "missing")
    assert await reported.run(action) == Execution(1)
    assert data(server) == {"key": "1"}

    again = await reported.run(action)

    assert isinstance(again.error, ConflictError)
    assert again.refused is action
    assert server.calls.writes == ["PATCH configmaps/one/a"]


async def test_an_existing_object_is_reported_to_the_caches(
    server: KubeServer, reported: ReportedObjects
) -> None:
    server.put("ConfigMap", config_map(key="by hand"))

    await reported.run(Apply(config_map(key="1"), "missing"))

    assert data(server) == {"key": "by hand"}
    assert reported.written[-1]["data"] == {"key": "by hand"}


LABELS = {"app.kubernetes.io/managed-by": "gantry", "app.kubernetes.io/instance": "orders"}


def owned(key: str) -> Json:
    """A ConfigMap of the cluster `orders`."""
    body = config_map(key=key)
    owner = {"apiVersion": "gantrymq.dev/v1", "kind": "BrokerCluster", "name": "orders", "uid": "u"}
    metadata = body["metadata"] | {"labels": LABELS, "ownerReferences": [owner]}
    return body | {"metadata": metadata}


def labels(server: KubeServer) -> Json:
    found = server.get("ConfigMap", "one", "a")
    assert found is not None
    return dict(found["metadata"].get("labels") or {})


async def test_an_object_that_lost_its_labels_gets_them_back(
    server: KubeServer, reported: ReportedObjects
) -> None:
    body = owned("1")
    server.put("ConfigMap", body | {"metadata": body["metadata"] | {"labels": {"more": "x"}}})

    execution = await reported.run(Apply(owned("2"), "missing"))

    # The plan did not know this object; the next plan sees it and decides what to change.
    assert isinstance(execution.error, ConflictError)
    assert labels(server) == {"more": "x"} | LABELS
    assert data(server) == {"key": "1"}
    assert reported.written[-1]["metadata"]["labels"] == {"more": "x"} | LABELS


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({}, "was made by hand or by another tool"),
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, "is managed by Helm"),
        ({"ownerReferences": [{"kind": "Shop", "name": "s", "uid": "x"}]}, "belongs to Shop/s"),
        (
            {"labels": LABELS, "ownerReferences": [{"kind": "Shop", "name": "s", "uid": "x"}]},
            "belongs to Shop/s",
        ),
    ],
)
async def test_an_object_of_another_owner_is_refused_with_its_name(
    server: KubeServer, reported: ReportedObjects, metadata: Json, words: str
) -> None:
    body = config_map(key="theirs")
    server.put("ConfigMap", body | {"metadata": body["metadata"] | metadata})

    execution = await reported.run(Apply(owned("ours"), "missing"))

    assert isinstance(execution.error, RefusedError)
    assert str(execution.error).startswith("ConfigMap/a: an object of this name exists")
    assert words in execution.error.words
    assert data(server) == {"key": "theirs"}


async def test_an_object_of_an_earlier_resource_of_the_name_is_planned_again(
    server: KubeServer, reported: ReportedObjects
) -> None:
    body = owned("1")
    earlier = body["metadata"]["ownerReferences"][0] | {"uid": "before"}
    server.put("ConfigMap", body | {"metadata": body["metadata"] | {"ownerReferences": [earlier]}})

    assert isinstance((await reported.run(Apply(owned("2"), "missing"))).error, ConflictError)


async def test_an_existing_secret_is_never_replaced(
    server: KubeServer, reported: ReportedObjects
) -> None:
    await reported.run(Apply(secret("first"), "missing"))

    execution = await reported.run(Apply(secret("second"), "missing"))

    assert isinstance(execution.error, ConflictError)
    assert data(server, "s", "Secret") == {"key": "first"}


async def test_a_change_needs_the_version_that_was_seen(
    server: KubeServer, reported: ReportedObjects
) -> None:
    await reported.run(Apply(config_map(key="1"), "missing"))
    seen = version(server, "ConfigMap", "a")
    assert await reported.run(Apply(config_map(key="2"), "changed", seen)) == Execution(1)

    stale = await reported.run(Apply(config_map(key="3"), "changed", seen))

    assert isinstance(stale.error, ConflictError)
    assert data(server) == {"key": "2"}
    assert reported.written[-1]["metadata"]["resourceVersion"] == version(server, "ConfigMap", "a")


async def test_fields_that_are_no_longer_applied_are_removed(
    server: KubeServer, reported: ReportedObjects
) -> None:
    await reported.run(Apply(config_map(one="1", two="2"), "missing"))

    await reported.run(Apply(config_map(one="1"), "changed", version(server, "ConfigMap", "a")))

    assert data(server) == {"one": "1"}


async def test_fields_of_other_writers_stay(server: KubeServer, reported: ReportedObjects) -> None:
    await reported.run(Apply(config_map(one="1"), "missing"))
    server.put("ConfigMap", {"metadata": {"namespace": "one", "name": "a"}, "data": {"more": "x"}})

    await reported.run(Apply(config_map(one="2"), "changed", version(server, "ConfigMap", "a")))

    assert data(server) == {"one": "2", "more": "x"}


async def test_a_change_of_a_deleted_object_is_a_conflict(
    server: KubeServer, reported: ReportedObjects
) -> None:
    execution = await reported.run(Apply(config_map(one="1"), "changed", "77"))

    assert execution.done == 0
    assert execution.error is not None
    assert data(server) is None


async def test_a_patch_changes_what_it_names_and_needs_the_version_that_was_seen(
    server: KubeServer, reported: ReportedObjects
) -> None:
    await reported.run(Apply(secret("first"), "missing"))
    ref, seen = ObjectRef("v1", "Secret", "one", "s"), version(server, "Secret", "s")
    adopted = {"metadata": {"labels": {"app": "x"}, "ownerReferences": [{"uid": "new"}]}}

    assert await reported.run(Patch(ref, seen, adopted, "adopted")) == Execution(1)
    stale = await reported.run(Patch(ref, seen, {"data": None}, "stale"))

    assert isinstance(stale.error, ConflictError)
    found = server.get("Secret", "one", "s")
    assert found is not None
    assert found["data"] == {"key": "first"}
    assert found["metadata"]["ownerReferences"] == [{"uid": "new"}]


OLD, NEW = "0123456789abcdef", "fedcba9876543210"
SECRET_REF = ObjectRef("v1", "Secret", "one", "s")


def change(seen: str, *kept: str, added: str = "", step: str | None = "Next") -> ChangeSecret:
    prints = tuple(fingerprint(each.encode()) for each in kept)
    return ChangeSecret(SECRET_REF, seen, prints, {"step": step}, "test", added)


def lines(server: KubeServer) -> list[str]:
    return base64.b64decode(data(server, "s", "Secret")["secret"]).decode().split("\n")


async def test_lines_of_a_secret_are_added_reordered_and_removed_by_their_fingerprints(
    server: KubeServer, reported: ReportedObjects
) -> None:
    body = secret("other") | {"data": {"secret": base64.b64encode(f"{OLD}\n".encode()).decode()}}
    await reported.run(Apply(body, "missing"))

    for kept, added, step, expected in (
        ([OLD], NEW, "One", [OLD, NEW]),
        ([NEW, OLD], "", "Two", [NEW, OLD]),
        ([NEW], "", None, [NEW]),
    ):
        action = change(version(server, "Secret", "s"), *kept, added=added, step=step)
        assert await reported.run(action) == Execution(1)
        assert lines(server) == expected
    found = server.get("Secret", "one", "s")
    assert found is not None
    assert "step" not in found["metadata"].get("annotations", {})


async def test_a_secret_with_other_lines_or_another_version_is_left_alone(
    server: KubeServer, reported: ReportedObjects
) -> None:
    body = secret("other") | {"data": {"secret": base64.b64encode(OLD.encode()).decode()}}
    await reported.run(Apply(body, "missing"))
    seen = version(server, "Secret", "s")

    other = await reported.run(change(seen, NEW))
    stale = await reported.run(change(str(int(seen) - 1), OLD, added=NEW))

    assert isinstance(other.error, ConflictError)
    assert "has changed its lines since the plan" in str(other.error)
    assert isinstance(stale.error, ConflictError)
    assert lines(server) == [OLD]


async def test_a_change_does_not_create_a_deleted_secret(
    server: KubeServer, reported: ReportedObjects
) -> None:
    execution = await reported.run(change("7", OLD))

    assert isinstance(execution.error, ConflictError)
    assert server.get("Secret", "one", "s") is None


async def test_a_patch_of_a_deleted_object_ends_the_run_and_is_reported_to_the_caches(
    reported: ReportedObjects,
) -> None:
    action = Patch(ObjectRef("v1", "Service", "one", "g"), "7", {"spec": {"ports": []}}, "test")

    execution = await reported.run(action)

    assert execution.done == 0
    assert isinstance(execution.error, NotFoundError)
    assert reported.gone == [action.ref]


async def test_a_deletion_deletes_only_the_object_that_was_seen(
    server: KubeServer, reported: ReportedObjects
) -> None:
    server.put("Pod", pod("p-0"))
    action = delete_pod(server, "p-0")
    server.delete("Pod", "one", "p-0")
    server.put("Pod", pod("p-0"))

    execution = await reported.run(action)

    assert isinstance(execution.error, ConflictError)
    assert server.get("Pod", "one", "p-0") is not None


async def test_a_deletion_of_a_deleted_object_succeeds(
    server: KubeServer, reported: ReportedObjects
) -> None:
    server.put("Pod", pod("p-0"))
    action = delete_pod(server, "p-0")
    server.delete("Pod", "one", "p-0")

    assert await reported.run(action) == Execution(1)
    assert reported.gone == [action.ref]


async def test_the_first_refusal_ends_the_run(
    server: KubeServer, reported: ReportedObjects
) -> None:
    server.faults.refusals["PATCH configmaps/b"] = (422, "data: Invalid value")
    actions = [Apply(config_map(name), "missing") for name in "abc"]

    execution = await reported.run(*actions)

    assert execution.done == 1
    assert execution.refused is actions[1]
    assert isinstance(execution.error, RefusedError)
    assert "data: Invalid value" in str(execution.error)
    assert data(server, "c") is None


async def test_a_group_has_one_disruptive_action_per_plan(
    server: KubeServer, reported: ReportedObjects
) -> None:
    for name in ("g-0-0", "g-0-1", "g-1-0"):
        server.put("Pod", pod(name))
    actions = [delete_pod(server, name) for name in ("g-0-0", "g-1-0", "g-0-1")]

    execution = await reported.run(*actions)

    assert execution == Execution(2)
    assert server.get("Pod", "one", "g-0-1") is not None
    assert server.get("Pod", "one", "g-1-0") is None
