from __future__ import annotations

import base64
from typing import Any

import pytest

from gantrymq.base.group_secret import fingerprint
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import ConflictError, NotFoundError, RefusedError
from gantrymq.operator.kube.executor import LEASE_TRIES_MAX, Execution, Executor
from gantrymq.operator.plan.actions import (
    Action,
    AnnotateLease,
    Apply,
    ChangeSecret,
    Delete,
    Json,
    ObjectRef,
    Patch,
    SetFinalizers,
)
from gantrymq.operator.plan.view.lease import grounds


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


class Told:
    """What the executor says of objects."""

    def __init__(self, client: KubeClient) -> None:
        self.gone: list[ObjectRef] = []
        self.written: list[Json] = []
        self.executor = Executor(client, self.written.append, self.gone.append)

    async def run(self, *actions: Action) -> Execution:
        return await self.executor.execute(actions)


@pytest.fixture
def told(client: KubeClient) -> Told:
    return Told(client)


def data(server: KubeServer, name: str = "a", kind: str = "ConfigMap") -> Any:
    found = server.get(kind, "one", name)
    return None if found is None else found["data"]


def version(server: KubeServer, kind: str, name: str) -> str:
    found = server.get(kind, "one", name)
    assert found is not None
    return str(found["metadata"]["resourceVersion"])


async def test_an_object_is_made_once(server: KubeServer, told: Told) -> None:
    action = Apply(config_map(key="1"), "missing")
    assert await told.run(action) == Execution(1)
    assert data(server) == {"key": "1"}

    again = await told.run(action)

    assert isinstance(again.error, ConflictError)
    assert again.refused is action
    assert server.calls.writes == ["PATCH configmaps/one/a"]


async def test_what_exists_already_is_told_to_the_caches(server: KubeServer, told: Told) -> None:
    server.put("ConfigMap", config_map(key="by hand"))

    await told.run(Apply(config_map(key="1"), "missing"))

    assert data(server) == {"key": "by hand"}
    assert told.written[-1]["data"] == {"key": "by hand"}


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
    server: KubeServer, told: Told
) -> None:
    body = owned("1")
    server.put("ConfigMap", body | {"metadata": body["metadata"] | {"labels": {"more": "x"}}})

    execution = await told.run(Apply(owned("2"), "missing"))

    # The plan was made without it: the next one sees it and decides what is to be changed.
    assert isinstance(execution.error, ConflictError)
    assert labels(server) == {"more": "x"} | LABELS
    assert data(server) == {"key": "1"}
    assert told.written[-1]["metadata"]["labels"] == {"more": "x"} | LABELS


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
    server: KubeServer, told: Told, metadata: Json, words: str
) -> None:
    body = config_map(key="theirs")
    server.put("ConfigMap", body | {"metadata": body["metadata"] | metadata})

    execution = await told.run(Apply(owned("ours"), "missing"))

    assert isinstance(execution.error, RefusedError)
    assert str(execution.error).startswith("ConfigMap/a: an object of this name exists")
    assert words in execution.error.words
    assert data(server) == {"key": "theirs"}


async def test_an_object_of_an_earlier_resource_of_the_name_is_looked_at_again(
    server: KubeServer, told: Told
) -> None:
    body = owned("1")
    earlier = body["metadata"]["ownerReferences"][0] | {"uid": "before"}
    server.put("ConfigMap", body | {"metadata": body["metadata"] | {"ownerReferences": [earlier]}})

    assert isinstance((await told.run(Apply(owned("2"), "missing"))).error, ConflictError)


async def test_an_existing_secret_is_never_replaced(server: KubeServer, told: Told) -> None:
    await told.run(Apply(secret("first"), "missing"))

    execution = await told.run(Apply(secret("second"), "missing"))

    assert isinstance(execution.error, ConflictError)
    assert data(server, "s", "Secret") == {"key": "first"}


async def test_a_change_needs_the_version_that_was_seen(server: KubeServer, told: Told) -> None:
    await told.run(Apply(config_map(key="1"), "missing"))
    seen = version(server, "ConfigMap", "a")
    assert await told.run(Apply(config_map(key="2"), "changed", seen)) == Execution(1)

    stale = await told.run(Apply(config_map(key="3"), "changed", seen))

    assert isinstance(stale.error, ConflictError)
    assert data(server) == {"key": "2"}
    assert told.written[-1]["metadata"]["resourceVersion"] == version(server, "ConfigMap", "a")


async def test_fields_that_are_no_longer_applied_go(server: KubeServer, told: Told) -> None:
    await told.run(Apply(config_map(one="1", two="2"), "missing"))

    await told.run(Apply(config_map(one="1"), "changed", version(server, "ConfigMap", "a")))

    assert data(server) == {"one": "1"}


async def test_fields_of_others_stay(server: KubeServer, told: Told) -> None:
    await told.run(Apply(config_map(one="1"), "missing"))
    server.put("ConfigMap", {"metadata": {"namespace": "one", "name": "a"}, "data": {"more": "x"}})

    await told.run(Apply(config_map(one="2"), "changed", version(server, "ConfigMap", "a")))

    assert data(server) == {"one": "2", "more": "x"}


async def test_a_change_of_what_is_gone_is_a_conflict_of_views(
    server: KubeServer, told: Told
) -> None:
    execution = await told.run(Apply(config_map(one="1"), "changed", "77"))

    assert execution.done == 0
    assert execution.error is not None
    assert data(server) is None


async def test_a_patch_changes_what_it_names_and_needs_the_version_that_was_seen(
    server: KubeServer, told: Told
) -> None:
    await told.run(Apply(secret("first"), "missing"))
    ref, seen = ObjectRef("v1", "Secret", "one", "s"), version(server, "Secret", "s")
    adopted = {"metadata": {"labels": {"app": "x"}, "ownerReferences": [{"uid": "new"}]}}

    assert await told.run(Patch(ref, seen, adopted, "adopted")) == Execution(1)
    stale = await told.run(Patch(ref, seen, {"data": None}, "stale"))

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
    server: KubeServer, told: Told
) -> None:
    body = secret("other") | {"data": {"secret": base64.b64encode(f"{OLD}\n".encode()).decode()}}
    await told.run(Apply(body, "missing"))

    for kept, added, step, expected in (
        ([OLD], NEW, "One", [OLD, NEW]),
        ([NEW, OLD], "", "Two", [NEW, OLD]),
        ([NEW], "", None, [NEW]),
    ):
        action = change(version(server, "Secret", "s"), *kept, added=added, step=step)
        assert await told.run(action) == Execution(1)
        assert lines(server) == expected
    found = server.get("Secret", "one", "s")
    assert found is not None
    assert "step" not in found["metadata"].get("annotations", {})


async def test_a_secret_with_other_lines_or_another_version_is_left_alone(
    server: KubeServer, told: Told
) -> None:
    body = secret("other") | {"data": {"secret": base64.b64encode(OLD.encode()).decode()}}
    await told.run(Apply(body, "missing"))
    seen = version(server, "Secret", "s")

    other = await told.run(change(seen, NEW))
    stale = await told.run(change(str(int(seen) - 1), OLD, added=NEW))

    assert isinstance(other.error, ConflictError)
    assert "has changed its lines since the plan" in str(other.error)
    assert isinstance(stale.error, ConflictError)
    assert lines(server) == [OLD]


async def test_a_secret_that_is_gone_is_not_made_by_a_change(
    server: KubeServer, told: Told
) -> None:
    execution = await told.run(change("7", OLD))

    assert isinstance(execution.error, ConflictError)
    assert server.get("Secret", "one", "s") is None


async def test_a_patch_of_what_is_gone_ends_the_run_and_is_told_to_the_caches(
    told: Told,
) -> None:
    action = Patch(ObjectRef("v1", "Service", "one", "g"), "7", {"spec": {"ports": []}}, "test")

    execution = await told.run(action)

    assert execution.done == 0
    assert isinstance(execution.error, NotFoundError)
    assert told.gone == [action.ref]


async def test_a_deletion_hits_the_object_that_was_seen_alone(
    server: KubeServer, told: Told
) -> None:
    server.put("Pod", pod("p-0"))
    action = delete_pod(server, "p-0")
    server.delete("Pod", "one", "p-0")
    server.put("Pod", pod("p-0"))

    execution = await told.run(action)

    assert isinstance(execution.error, ConflictError)
    assert server.get("Pod", "one", "p-0") is not None


async def test_a_deletion_of_what_is_gone_is_done(server: KubeServer, told: Told) -> None:
    server.put("Pod", pod("p-0"))
    action = delete_pod(server, "p-0")
    server.delete("Pod", "one", "p-0")

    assert await told.run(action) == Execution(1)
    assert told.gone == [action.ref]


async def test_the_first_refusal_ends_the_run(server: KubeServer, told: Told) -> None:
    server.faults.refusals["PATCH configmaps/b"] = (422, "data: Invalid value")
    actions = [Apply(config_map(name), "missing") for name in "abc"]

    execution = await told.run(*actions)

    assert execution.done == 1
    assert execution.refused is actions[1]
    assert isinstance(execution.error, RefusedError)
    assert "data: Invalid value" in str(execution.error)
    assert data(server, "c") is None


async def test_one_disruptive_action_of_a_group_is_done_before_the_next_look(
    server: KubeServer, told: Told
) -> None:
    for name in ("g-0-0", "g-0-1", "g-1-0"):
        server.put("Pod", pod(name))
    actions = [delete_pod(server, name) for name in ("g-0-0", "g-1-0", "g-0-1")]

    execution = await told.run(*actions)

    assert execution == Execution(2)
    assert server.get("Pod", "one", "g-0-1") is not None
    assert server.get("Pod", "one", "g-1-0") is None


async def test_a_request_is_written_only_to_the_lease_that_was_seen(
    server: KubeServer, told: Told
) -> None:
    server.put("Lease", {"metadata": {"namespace": "one", "name": "g"}, "spec": {}})
    ref = ObjectRef("coordination.k8s.io/v1", "Lease", "one", "g")
    seen = version(server, "Lease", "g")

    assert await told.run(
        AnnotateLease(ref, seen, {"gantrymq.dev/preferred": "2"}, "test")
    ) == Execution(1)
    stale = await told.run(AnnotateLease(ref, seen, {"gantrymq.dev/preferred": "1"}, "test"))

    assert isinstance(stale.error, ConflictError)
    lease = server.get("Lease", "one", "g")
    assert lease is not None
    assert lease["metadata"]["annotations"] == {"gantrymq.dev/preferred": "2"}


def put_lease(server: KubeServer, renewal: int, *, epoch: int = 3) -> Json:
    notes = {"gantrymq.dev/epoch": str(epoch), "gantrymq.dev/in-sync": "1,2"}
    metadata: Json = {"namespace": "one", "name": "g", "annotations": notes}
    spec = {"holderIdentity": "1", "renewTime": f"2026-01-01T00:00:{renewal:02}Z"}
    return server.put("Lease", {"metadata": metadata, "spec": spec})


def request_for(lease: Json) -> AnnotateLease:
    ref = ObjectRef("coordination.k8s.io/v1", "Lease", "one", "g")
    seen = lease["metadata"]["resourceVersion"]
    return AnnotateLease(
        ref, seen, {"gantrymq.dev/switch-to": "2"}, "test", expected=grounds(lease)
    )


def switch_to(server: KubeServer) -> str:
    found = server.get("Lease", "one", "g")
    assert found is not None
    return str(found["metadata"]["annotations"].get("gantrymq.dev/switch-to", ""))


async def test_a_request_is_written_to_a_lease_that_was_only_renewed(
    server: KubeServer, told: Told
) -> None:
    request = request_for(put_lease(server, 1))
    put_lease(server, 2)

    assert await told.run(request) == Execution(1)
    assert switch_to(server) == "2"


async def test_a_request_is_not_written_under_another_epoch(server: KubeServer, told: Told) -> None:
    request = request_for(put_lease(server, 1))
    put_lease(server, 2, epoch=4)

    execution = await told.run(request)

    assert isinstance(execution.error, ConflictError)
    assert "has changed its epoch since the plan" in str(execution.error)
    assert switch_to(server) == ""


async def test_a_request_is_given_up_when_each_try_meets_a_renewal(
    server: KubeServer, told: Told
) -> None:
    request = request_for(put_lease(server, 1))
    server.faults.refusals["PATCH leases/g"] = (409, "the object has been modified")

    execution = await told.run(request)

    assert isinstance(execution.error, ConflictError)
    assert server.calls.requests["PATCH leases"] == LEASE_TRIES_MAX


async def test_finalizers_are_set_on_the_version_that_was_seen(
    server: KubeServer, told: Told
) -> None:
    server.put("BrokerCluster", {"metadata": {"namespace": "one", "name": "c"}, "spec": {}})
    ref = ObjectRef("gantrymq.dev/v1", "BrokerCluster", "one", "c")
    seen = version(server, "BrokerCluster", "c")

    assert await told.run(SetFinalizers(ref, seen, ("gantrymq.dev/x",), "test")) == Execution(1)
    stale = await told.run(SetFinalizers(ref, seen, (), "test"))

    assert isinstance(stale.error, ConflictError)
    found = server.get("BrokerCluster", "one", "c")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["gantrymq.dev/x"]


async def test_the_last_finalizer_lets_a_deleted_resource_go(
    server: KubeServer, told: Told
) -> None:
    server.put(
        "BrokerCluster",
        {"metadata": {"namespace": "one", "name": "c", "finalizers": ["f"]}, "spec": {}},
    )
    server.delete("BrokerCluster", "one", "c")
    ref = ObjectRef("gantrymq.dev/v1", "BrokerCluster", "one", "c")
    action = SetFinalizers(ref, version(server, "BrokerCluster", "c"), (), "test")

    assert await told.run(action) == Execution(1)
    assert server.get("BrokerCluster", "one", "c") is None
    assert await told.run(action) == Execution(1)
