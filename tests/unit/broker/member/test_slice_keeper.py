"""The Service of a group leads to its master, whatever becomes of the EndpointSlice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import pytest

from gantrymq.broker.member import slice_keeper
from gantrymq.broker.member.slice_client import SliceClient
from gantrymq.broker.member.slice_keeper import SliceKeeper
from gantrymq.fakes.groups.lease_api import Fault, LeaseApi
from gantrymq.ha.lease.endpoint_slice import Endpoint
from gantrymq.ha.lease.lease_object import OBJECT_BYTES_MAX, ObjectName
from gantrymq.runtime.http import kube_api
from gantrymq.runtime.http.kube_api import ApiPlace, KubeApi
from gantrymq.runtime.logs import Log

SERVICE = ObjectName("mq", "broker-a")
KEY = ("endpointslices", "mq", "broker-a-master")
PORTS = {"broker": 10911, "fast": 10909, "ha": 10912}
ENDPOINT = Endpoint(5, "10.0.0.2", PORTS, node="node-1")
WAIT_SECONDS = 30.0


class KeeperBench:
    """A master with a keeper, and the API."""

    def __init__(self, api: LeaseApi, http: KubeApi) -> None:
        self.api = api
        self.http = http
        self.epoch = 5
        self.renewed_at = float("-inf")
        self.published: list[bool] = []
        client = SliceClient(http, SERVICE)
        self.keeper = SliceKeeper(
            client, Log("member"), lambda epoch: epoch == self.epoch, lambda _: self.renewed_at
        )

    def fault(self, fault: Fault, *methods: str) -> None:
        port = self.api.ports[0]
        port.fault, port.methods = fault, methods or ("GET", "POST", "PUT")

    def note(self, epoch: int, is_done: bool) -> None:
        assert epoch == self.epoch
        self.published.append(is_done)

    @property
    def addresses(self) -> list[str]:
        content = self.api.objects.objects.get(KEY, {"endpoints": []})
        return [each["addresses"][0] for each in content["endpoints"]]


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[KeeperBench]:
    """With a keeper that looks often, so that nothing is waited for."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", 60.0)
    for name in ("LOOK_SECONDS", "AGAIN_SECONDS", "SURVEY_SECONDS"):
        monkeypatch.setattr(slice_keeper, name, 0.01)
    api = LeaseApi()
    [url] = await api.start()
    http = KubeApi(ApiPlace(url), OBJECT_BYTES_MAX)
    bench = KeeperBench(api, http)
    keeping = asyncio.create_task(bench.keeper.keep(ENDPOINT, bench.note))
    yield bench
    bench.epoch = 0
    async with asyncio.timeout(WAIT_SECONDS):
        await keeping  # it ends with the epoch
    await http.close()
    await api.stop()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - the API is changed by the keeper alone
            await asyncio.sleep(0.005)


async def test_a_slice_that_is_deleted_is_made_anew(bench: KeeperBench) -> None:
    for _ in range(3):
        await until(lambda: bench.addresses == ["10.0.0.2"])
        bench.api.objects.delete(KEY)
    await until(lambda: bench.addresses == ["10.0.0.2"])
    assert bench.published[0]


@pytest.mark.parametrize(
    "edit",
    [
        {"endpoints": [{"addresses": ["10.9.9.9"]}]},
        {"ports": []},
        {"metadata": {"labels": {"kubernetes.io/service-name": None}}},
        {"metadata": {"annotations": {"gantrymq.dev/epoch": None}}},
    ],
)
async def test_a_slice_that_is_edited_is_put_right(
    bench: KeeperBench, edit: dict[str, object]
) -> None:
    await until(lambda: bench.addresses == ["10.0.0.2"])
    right = bench.api.objects.objects[KEY]
    bench.api.objects.patch(KEY, edit)
    wrong = bench.api.objects.objects[KEY]["metadata"]["resourceVersion"]

    def is_right() -> bool:
        now = dict(bench.api.objects.objects[KEY])
        is_written = now["metadata"]["resourceVersion"] != wrong
        said = ("endpoints", "ports", "addressType")
        notes = ("labels", "annotations")
        return (
            is_written
            and all(now[key] == right[key] for key in said)
            and all(now["metadata"][key] == right["metadata"][key] for key in notes)
        )

    await until(is_right)


async def test_a_slice_of_the_other_address_type_is_replaced(bench: KeeperBench) -> None:
    await until(lambda: bench.addresses == ["10.0.0.2"])
    bench.api.objects.delete(KEY)
    six = {
        "kind": "EndpointSlice", "metadata": {"name": KEY[2], "namespace": "mq"},
        "addressType": "IPv6", "endpoints": [{"addresses": ["fd00::9"]}],
    }  # fmt: skip
    bench.api.objects.post(KEY, six)
    await until(lambda: bench.addresses == ["10.0.0.2"])
    assert bench.api.objects.objects[KEY]["addressType"] == "IPv4"


async def test_an_epoch_that_was_edited_in_is_overruled_once_the_lease_was_renewed(
    bench: KeeperBench, caplog: pytest.LogCaptureFixture
) -> None:
    await until(lambda: bench.addresses == ["10.0.0.2"])
    edit = {
        "metadata": {"annotations": {"gantrymq.dev/epoch": "99"}},
        "endpoints": [{"addresses": ["10.9.9.9"]}],
    }
    bench.api.objects.patch(KEY, edit)
    await until(lambda: bench.published[-2:] == [False, False])
    assert bench.addresses == ["10.9.9.9"], "it could be a newer master's"
    assert any("of epoch 99" in each for each in bench.keeper.problems)
    bench.renewed_at = asyncio.get_running_loop().time()
    await until(lambda: bench.addresses == ["10.0.0.2"])
    await until(lambda: not bench.keeper.problems)
    assert caplog.text.count("publishing master address failed") == 1


async def test_foreign_slices_are_reported_once_until_they_are_gone(
    bench: KeeperBench, caplog: pytest.LogCaptureFixture
) -> None:
    key = ("endpointslices", "mq", "by-hand")
    content = {
        "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "by-hand", "labels": {"kubernetes.io/service-name": "broker-a"}},
    }  # fmt: skip
    bench.api.objects.post(("endpointslices", "mq", ""), content)
    with caplog.at_level(logging.INFO):
        await until(lambda: bool(bench.keeper.problems))
        surveys = bench.api.ports[0].asked.count("LIST ")
        await until(lambda: bench.api.ports[0].asked.count("LIST ") > surveys + 2)
        assert caplog.text.count("other EndpointSlices of the Service") == 1
        [problem] = bench.keeper.problems
        assert "kubectl delete endpointslice by-hand" in problem
        bench.api.objects.delete(key)
        await until(lambda: not bench.keeper.problems)
    assert "other EndpointSlices of the Service found=none" in caplog.text


async def test_a_right_that_is_missing_is_reported_as_that(
    bench: KeeperBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.fault(Fault.FORBID)
    await until(lambda: len(bench.keeper.problems) == 2)
    unpublished, unknown = bench.keeper.problems
    assert "the Service: the API answers 403" in unpublished
    assert "other EndpointSlices of the Service cannot be listed: the API answers 403" in unknown
    await until(lambda: len(bench.published) > 3)
    assert caplog.text.count("cannot list other EndpointSlices of the Service") == 1
    bench.fault(Fault.NONE)
    await until(lambda: not bench.keeper.problems)
