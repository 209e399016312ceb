"""Tests how the executor writes requests into Leases, and sets finalizers."""

from __future__ import annotations

from gantrymq.fakes_kube.executing import ReportedObjects, version
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.errors import ConflictError
from gantrymq.operator.kube.executor import LEASE_TRIES_MAX, Execution
from gantrymq.operator.plan.actions import AnnotateLease, Json, ObjectRef, SetFinalizers
from gantrymq.operator.plan.view.lease import grounds


async def test_a_request_is_written_only_to_the_lease_that_was_seen(
    server: KubeServer, reported: ReportedObjects
) -> None:
    server.put("Lease", {"metadata": {"namespace": "one", "name": "g"}, "spec": {}})
    ref = ObjectRef("coordination.k8s.io/v1", "Lease", "one", "g")
    seen = version(server, "Lease", "g")

    assert await reported.run(
        AnnotateLease(ref, seen, {"gantrymq.dev/preferred": "2"}, "test")
    ) == Execution(1)
    stale = await reported.run(AnnotateLease(ref, seen, {"gantrymq.dev/preferred": "1"}, "test"))

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
    server: KubeServer, reported: ReportedObjects
) -> None:
    request = request_for(put_lease(server, 1))
    put_lease(server, 2)

    assert await reported.run(request) == Execution(1)
    assert switch_to(server) == "2"


async def test_a_request_is_not_written_under_another_epoch(
    server: KubeServer, reported: ReportedObjects
) -> None:
    request = request_for(put_lease(server, 1))
    put_lease(server, 2, epoch=4)

    execution = await reported.run(request)

    assert isinstance(execution.error, ConflictError)
    assert "has changed its epoch since the plan" in str(execution.error)
    assert switch_to(server) == ""


async def test_a_request_is_given_up_when_each_try_meets_a_renewal(
    server: KubeServer, reported: ReportedObjects
) -> None:
    request = request_for(put_lease(server, 1))
    server.faults.refusals["PATCH leases/g"] = (409, "the object has been modified")

    execution = await reported.run(request)

    assert isinstance(execution.error, ConflictError)
    assert server.calls.requests["PATCH leases"] == LEASE_TRIES_MAX


async def test_finalizers_are_set_on_the_version_that_was_seen(
    server: KubeServer, reported: ReportedObjects
) -> None:
    server.put("BrokerCluster", {"metadata": {"namespace": "one", "name": "c"}, "spec": {}})
    ref = ObjectRef("gantrymq.dev/v1", "BrokerCluster", "one", "c")
    seen = version(server, "BrokerCluster", "c")

    assert await reported.run(SetFinalizers(ref, seen, ("gantrymq.dev/x",), "test")) == Execution(1)
    stale = await reported.run(SetFinalizers(ref, seen, (), "test"))

    assert isinstance(stale.error, ConflictError)
    found = server.get("BrokerCluster", "one", "c")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["gantrymq.dev/x"]


async def test_removing_the_last_finalizer_ends_a_deleted_resource(
    server: KubeServer, reported: ReportedObjects
) -> None:
    server.put(
        "BrokerCluster",
        {"metadata": {"namespace": "one", "name": "c", "finalizers": ["f"]}, "spec": {}},
    )
    server.delete("BrokerCluster", "one", "c")
    ref = ObjectRef("gantrymq.dev/v1", "BrokerCluster", "one", "c")
    action = SetFinalizers(ref, version(server, "BrokerCluster", "c"), (), "test")

    assert await reported.run(action) == Execution(1)
    assert server.get("BrokerCluster", "one", "c") is None
    assert await reported.run(action) == Execution(1)
