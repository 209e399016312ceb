"""Tests the operator with a simulated API server over real sockets."""

from __future__ import annotations

import asyncio

import pytest

from gantrymq.fakes_kube.api_paths import KUBE_PLURALS
from gantrymq.fakes_kube.life import Life
from gantrymq.fakes_kube.operating import (
    OWNED,
    add_cluster,
    condition,
    is_quiet,
    names_of_owned,
    operating,
    status,
)
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.kube.watch.reflector import Pace
from gantrymq.operator.shell.assembly import Operator
from gantrymq.operator.shell.work.controller import CLUSTERS

pytestmark = pytest.mark.usefixtures("life")


def runs(operator: Operator) -> int:
    """How often clusters were reconciled, whatever came of it."""
    outcomes = operator.work.counters.outcomes
    return sum(count for (work, _), count in outcomes.items() if work == CLUSTERS)


async def look(operator: Operator, times: int = 1) -> None:
    """Have the cluster reconciled so many times, with every cache complete."""
    await until(lambda: operator.caches.is_synced)
    for _ in range(times):
        await one_more(operator)


async def one_more(operator: Operator) -> None:
    before = runs(operator)
    operator.resource_changed("one", "orders")
    await until(lambda: runs(operator) > before)


async def test_a_cluster_is_created_and_becomes_ready(server: KubeServer) -> None:
    add_cluster(server, groups=2)

    async with operating(server):
        await until(lambda: is_quiet(server))

    assert names_of_owned(server)["StatefulSet"] == [
        "orders-broker-0",
        "orders-broker-1",
        "orders-namesrv",
    ]
    assert status(server)["readyMembers"] == "4/4"


async def test_a_second_reconciliation_writes_nothing(server: KubeServer) -> None:
    add_cluster(server)
    async with operating(server) as operator:
        await until(lambda: is_quiet(server))
        await until(lambda: operator.publisher.pending == 0)
        server.calls.clear()
        await look(operator, times=5)

        assert server.calls.writes == []


async def test_a_restarted_operator_changes_nothing(server: KubeServer) -> None:
    add_cluster(server)
    async with operating(server):
        await until(lambda: is_quiet(server))
    server.calls.clear()

    async with operating(server) as operator:
        await look(operator, times=2)

    assert server.calls.writes == []


async def test_objects_deleted_by_hand_are_created_again(server: KubeServer) -> None:
    add_cluster(server)
    async with operating(server):
        await until(lambda: is_quiet(server))

        server.delete("Service", "one", "orders-broker-0-members")

        await until(lambda: server.get("Service", "one", "orders-broker-0-members"))


async def test_changes_by_hand_are_reverted(server: KubeServer) -> None:
    add_cluster(server)
    async with operating(server):
        await until(lambda: is_quiet(server))
        service = server.get("Service", "one", "orders-broker-0-members")
        assert service is not None
        assert service["spec"]["publishNotReadyAddresses"]

        changed = service["spec"] | {"publishNotReadyAddresses": False}
        server.put("Service", {"metadata": service["metadata"], "spec": changed})

        await until(
            lambda: (
                (server.get("Service", "one", "orders-broker-0-members") or service)["spec"]
                == service["spec"]
            )
        )


async def test_a_namespace_that_is_not_served_is_left_alone(server: KubeServer) -> None:
    add_cluster(server, "one")
    add_cluster(server, "two")

    async with operating(server, namespaces=["one"]):
        await until(lambda: is_quiet(server, "one"))

    assert names_of_owned(server, "two") == {kind: [] for kind in OWNED}
    assert status(server, "two") == {}


async def test_a_deleted_cluster_takes_what_it_owned_along(server: KubeServer) -> None:
    add_cluster(server)
    async with operating(server) as operator:
        await until(lambda: is_quiet(server))
        server.delete("BrokerCluster", "one", "orders")
        operator.resource_changed("one", "orders")

        await until(lambda: server.get("BrokerCluster", "one", "orders") is None)
        await until(lambda: not operator.clusters.resources)

    owned = names_of_owned(server)
    assert owned["StatefulSet"] == owned["Pod"] == owned["Secret"] == []
    # by default, volumes outlive their cluster, and the epochs do
    assert owned["PersistentVolumeClaim"] != []
    assert owned["Lease"] != []


async def test_a_refusal_is_shown_in_the_status_and_recovered_from(server: KubeServer) -> None:
    server.faults.refusals["PATCH statefulsets/orders-broker-0"] = (
        422,
        "admission webhook denied the request: image is not signed",
    )
    add_cluster(server)
    async with operating(server) as operator:
        await until(lambda: "image is not signed" in condition(server, "Ready", field="message"))

        server.faults.refusals.clear()
        operator.resource_changed("one", "orders")

        await until(lambda: is_quiet(server))


async def test_throttled_requests_are_repeated(server: KubeServer) -> None:
    add_cluster(server)
    server.faults.throttled = 60

    async with operating(server):
        await until(lambda: is_quiet(server))

    assert server.faults.throttled == 0


async def test_the_operator_recovers_after_an_api_outage(server: KubeServer) -> None:
    add_cluster(server)
    async with operating(server):
        await until(lambda: server.get("Service", "one", "orders-namesrv"))
        server.faults.is_refusing = True
        server.close_watches()
        await asyncio.sleep(0.2)
        server.objects.forget_history()
        server.faults.is_refusing = False

        await until(lambda: is_quiet(server))


@pytest.mark.parametrize("lost", [1, 10, 60])
async def test_lost_events_only_delay_changes(server: KubeServer, lost: int) -> None:
    add_cluster(server)
    pace = Pace(backoff_seconds=0.02, relist_seconds=1.0)
    async with operating(server, pace=pace):
        await until(lambda: server.get("Service", "one", "orders-namesrv"))
        server.faults.dropped_events = lost

        await until(lambda: is_quiet(server))


async def test_a_plan_from_a_stale_list_changes_nothing(server: KubeServer) -> None:
    add_cluster(server)
    server.objects.freeze()
    async with operating(server):
        await until(lambda: is_quiet(server))
    server.calls.clear()
    # The first lists are of the time when nothing existed, and the watches bring nothing of it.
    server.faults.stale_lists = set(KUBE_PLURALS) - {"brokerclusters"}
    server.objects.history.clear()

    async with operating(server, pace=Pace(backoff_seconds=0.02, relist_seconds=3.0)) as operator:
        await look(operator, times=10)
        await until(lambda: is_quiet(server))

    assert [each for each in server.calls.writes if "brokerclusters/status" not in each] == []


async def test_a_new_master_is_noticed_at_once(server: KubeServer, life: Life) -> None:
    add_cluster(server)
    async with operating(server):
        await until(lambda: is_quiet(server))

        life.fail_over("one", "orders-broker-0", member=2)

        await until(lambda: status(server)["groups"][0]["master"] == "orders-broker-0-1")


async def test_an_account_of_another_tool_is_refused_in_the_status(server: KubeServer) -> None:
    metadata = {"namespace": "one", "name": "orders-broker", "labels": {"team": "shop"}}
    server.put("ServiceAccount", {"metadata": metadata})
    add_cluster(server)
    async with operating(server) as operator:
        await until(
            lambda: (
                "ServiceAccount/orders-broker: an object of this name exists"
                in condition(server, "Ready", field="message")
            )
        )
        account = server.get("ServiceAccount", "one", "orders-broker")
        assert account is not None
        assert "ownerReferences" not in account["metadata"]

        server.delete("ServiceAccount", "one", "orders-broker")
        operator.resource_changed("one", "orders")

        await until(lambda: is_quiet(server))


async def test_an_object_that_lost_its_labels_is_found_again(server: KubeServer) -> None:
    add_cluster(server)
    async with operating(server):
        await until(lambda: is_quiet(server))
        service = server.get("Service", "one", "orders-broker-0-members")
        assert service is not None
        labels = service["metadata"]["labels"]

        server.put(
            "Service",
            {"metadata": service["metadata"] | {"labels": dict.fromkeys(labels)}},
        )

        await until(
            lambda: (
                (server.get("Service", "one", "orders-broker-0-members") or {})["metadata"].get(
                    "labels"
                )
                == labels
            )
        )


async def test_a_recreated_cluster_does_not_inherit_a_refusal(server: KubeServer) -> None:
    server.faults.refusals["PATCH statefulsets/orders-broker-0"] = (422, "not signed")
    add_cluster(server, paused=False)
    async with operating(server) as operator:
        await until(lambda: "not signed" in condition(server, "Ready", field="message"))
        first = server.get("BrokerCluster", "one", "orders")
        assert first is not None
        place = server.place("BrokerCluster", "one", "orders")
        del server.objects.items[place]
        add_cluster(server, paused=True)

        await look(operator)

        assert "not signed" not in str(status(server))
