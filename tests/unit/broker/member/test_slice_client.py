"""The EndpointSlice of a Service, written through an API that answers, and one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from gantrymq.broker.member.slice_client import SliceClient
from gantrymq.fakes.groups.lease_api import Fault, LeaseApi
from gantrymq.ha.lease.endpoint_slice import Endpoint
from gantrymq.ha.lease.lease_object import OBJECT_BYTES_MAX, ObjectName
from gantrymq.runtime.http import kube_api
from gantrymq.runtime.http.kube_api import ApiPlace, KubeApi

SERVICE = ObjectName("mq", "main-broker-0")
KEY = ("endpointslices", "mq", "main-broker-0-master")
PORTS = {"broker": 10911, "fast": 10909, "ha": 10912}


@dataclass
class Bench:
    """A client and the API."""

    api: LeaseApi
    slices: SliceClient

    def fault(self, fault: Fault, *methods: str) -> None:
        port = self.api.ports[0]
        port.fault, port.methods = fault, methods or ("GET", "POST", "PUT")


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    """A busy machine answers late, and does answer."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", 60.0)
    api = LeaseApi()
    [url] = await api.start()
    http = KubeApi(ApiPlace(url), OBJECT_BYTES_MAX)
    yield Bench(api, SliceClient(http, SERVICE))
    await http.close()
    await api.stop()


async def test_the_service_leads_to_the_newest_master(bench: Bench) -> None:
    assert await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS)) is None
    assert await bench.slices.publish(Endpoint(6, "10.0.0.3", PORTS)) is None
    assert await bench.slices.publish(Endpoint(6, "10.0.0.3", PORTS)) is None
    refused = await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS))
    assert refused is not None
    assert "of epoch 6" in refused
    asked = [each.split()[0] for each in bench.api.ports[0].asked]
    assert asked == ["GET", "POST", "GET", "PUT", "GET", "GET"]


async def test_a_service_that_cannot_be_led_says_why(bench: Bench) -> None:
    bench.fault(Fault.FAIL)
    refused = await bench.slices.publish(Endpoint(5, "10.0.0.2", {"broker": 10911}))
    assert refused == "the API answers 500: etcdserver: no leader"


async def test_a_master_with_the_other_kind_of_address_makes_the_slice_anew(bench: Bench) -> None:
    assert await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS)) is None
    before = bench.api.objects.slice()
    assert before is not None
    assert await bench.slices.publish(Endpoint(6, "fd00::3", PORTS)) is None
    now = bench.api.objects.slice()
    assert now is not None
    assert now["addressType"] == "IPv6"
    assert now["endpoints"][0]["addresses"] == ["fd00::3"]
    assert now["metadata"]["uid"] != before["metadata"]["uid"]
    asked = [each.split()[0] for each in bench.api.ports[0].asked]
    assert asked == ["GET", "POST", "GET", "DELETE", "POST"]


async def test_a_slice_that_was_replaced_meanwhile_is_not_deleted(bench: Bench) -> None:
    assert await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS)) is None
    bench.fault(Fault.EARLY, "DELETE")
    publishing = asyncio.create_task(bench.slices.publish(Endpoint(6, "fd00::3", PORTS)))
    bench.api.ports[0].seconds = 0.05
    while "DELETE main-broker-0-master" not in bench.api.ports[0].asked:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    bench.api.objects.patch(KEY, {"metadata": {"annotations": {"gantrymq.dev/epoch": "7"}}})
    refused = await publishing
    assert refused is not None
    assert "the API answers 409" in refused
    assert await bench.slices.publish(Endpoint(6, "fd00::3", PORTS)) is not None


async def test_a_slice_of_a_higher_epoch_is_replaced_only_in_the_version_that_was_read(
    bench: Bench,
) -> None:
    assert await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS)) is None
    edit = {"metadata": {"annotations": {"gantrymq.dev/epoch": "99"}}}
    bench.api.objects.patch(KEY, edit)
    refused = await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS))
    assert refused is not None
    assert "of epoch 99" in refused
    version = bench.slices.newer_version
    bench.api.objects.patch(KEY, {"metadata": {"labels": {"touched": "yes"}}})
    assert await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS), version) is not None
    version = bench.slices.newer_version
    assert await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS), version) is None
    now = bench.api.objects.slice()
    assert now is not None
    assert now["metadata"]["annotations"]["gantrymq.dev/epoch"] == "5"
    assert bench.slices.newer_version == version, "it was still there when it was read"


async def test_a_service_with_ports_of_other_names_is_noticed(bench: Bench) -> None:
    key = ("services", "mq", SERVICE.name)
    told = (await bench.slices.survey(("broker",))).mistake
    assert told is None, "there is none, or it may not be read"
    service = {
        "kind": "Service",
        "metadata": {"name": SERVICE.name},
        "spec": {"ports": [{"name": "mq", "port": 10911}]},
    }
    bench.api.objects.post(key, service)
    told = (await bench.slices.survey(("broker",))).mistake
    assert told is not None
    assert "ports named 'mq', which have no endpoint" in told
    bench.fault(Fault.FAIL)
    assert (await bench.slices.survey(("broker",))).mistake is None


def foreign_slice(name: str, manager: str, service: str = SERVICE.name) -> dict[str, object]:
    return {
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/service-name": service,
                "endpointslice.kubernetes.io/managed-by": manager,
            },
        },
        "addressType": "IPv4",
    }


async def test_slices_of_the_same_service_are_found_beside_the_masters(bench: Bench) -> None:
    assert await bench.slices.publish(Endpoint(5, "10.0.0.2", PORTS)) is None
    assert (await bench.slices.survey(PORTS)).foreign == ()
    mirror = "endpointslicemirroring-controller.k8s.io"
    mirrored, mend = "main-broker-0-x7k2p", "kubectl delete endpoints main-broker-0"
    for content in (
        foreign_slice(mirrored, mirror),
        foreign_slice("by-hand", "another-tool"),
        foreign_slice("other-master", "gantrymq.dev", "other"),
    ):
        bench.api.objects.post(("endpointslices", "mq", ""), content)
    assert (await bench.slices.survey(PORTS)).foreign == (
        "EndpointSlice by-hand of another-tool: kubectl delete endpointslice by-hand",
        f"EndpointSlice {mirrored} mirrors the Endpoints {SERVICE.name}: {mend}",
    )


async def test_forbidden_list_of_slices_differs_from_an_empty_one(bench: Bench) -> None:
    bench.fault(Fault.FORBID)
    survey = await bench.slices.survey(PORTS)
    assert survey.foreign is None
    assert survey.unread == "the API answers 403: cannot get resource endpointslices"
