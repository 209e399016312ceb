"""A member's dealings with an API that answers, and with one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from gantrymq.broker.member.lease_client import OWNER, PROBLEMS, LeaseClient
from gantrymq.fakes.groups.lease_api import Fault, LeaseApi
from gantrymq.ha.lease.lease import Conflict, Found, Lease, Missing, Unanswered, Written
from gantrymq.ha.lease.lease_object import OBJECT_BYTES_MAX, ObjectName
from gantrymq.ha.lease.member_id import MemberId
from gantrymq.runtime.http import kube_api
from gantrymq.runtime.http.kube_api import ApiPlace, KubeApi

PLACE = ObjectName("mq", "main-broker-0")
KEY = ("leases", "mq", "main-broker-0")
PLACE_OF_TWO = MemberId(2, frozenset({1, 2}), "10.0.0.2:10911", "10.0.0.2:10912", "72" * 16)
FIRST = Lease("", 1, "10.0.0.1:10911", "10.0.0.1:10912", 1, frozenset({1, 2}))


@dataclass
class Bench:
    """Two members and the API."""

    api: LeaseApi
    one: LeaseClient
    other: LeaseClient
    problems: list[str]
    http: KubeApi

    def fault(self, fault: Fault, *methods: str) -> None:
        port = self.api.ports[0]
        port.fault, port.methods = fault, methods or ("GET", "POST", "PUT")

    async def begun(self) -> Lease:
        written = await self.one.write(FIRST)
        assert isinstance(written, Written)
        return replace(FIRST, version=written.version)


@asynccontextmanager
async def bench_of() -> AsyncIterator[Bench]:
    api = LeaseApi(ports=2)
    urls = await api.start()
    clients = [KubeApi(ApiPlace(url), OBJECT_BYTES_MAX) for url in urls]
    problems: list[str] = []
    one, other = (
        LeaseClient(each, PLACE, lambda: 1_700_000_000_000, lambda: problems) for each in clients
    )
    yield Bench(api, one, other, problems, clients[0])
    for each in clients:
        await each.close()
    await api.stop()


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    """A client that waits for answers, however late a busy machine gives them."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", 60.0)
    async with bench_of() as bench:
        yield bench


@pytest.fixture
async def hasty() -> AsyncIterator[Bench]:
    """A client that waits no longer than in production."""
    async with bench_of() as bench:
        yield bench


async def test_it_is_made_read_and_replaced(bench: Bench) -> None:
    assert await bench.one.read() == Missing()
    lease = await bench.begun()
    assert await bench.other.read() == Found(lease)
    renewed = await bench.other.write(replace(lease, renewals=1))
    assert isinstance(renewed, Written)
    assert await bench.one.read() == Found(replace(lease, renewals=1, version=renewed.version))


async def test_two_may_not_make_it(bench: Bench) -> None:
    await bench.begun()
    assert await bench.other.write(FIRST) == Conflict()


async def test_a_version_that_is_gone_is_not_replaced(bench: Bench) -> None:
    lease = await bench.begun()
    assert isinstance(await bench.other.read(), Found)
    assert isinstance(await bench.one.write(replace(lease, renewals=1)), Written)
    assert await bench.other.write(replace(lease, renewals=9)) == Conflict()


async def test_a_deleted_object_is_not_made_anew_by_a_renewal(bench: Bench) -> None:
    lease = await bench.begun()
    bench.api.objects.delete(KEY)
    assert await bench.one.write(replace(lease, renewals=1)) == Conflict()
    assert await bench.one.read() == Missing()


async def test_an_odd_count_of_transitions_is_written_anew(bench: Bench) -> None:
    lease = await bench.begun()
    bench.api.objects.patch(KEY, {"spec": {"leaseTransitions": "often"}})
    found = await bench.one.read()
    assert isinstance(found, Found)
    answer = await bench.one.write(
        found.lease.acquired(PLACE_OF_TWO, lease.epoch + 1, frozenset({1}))
    )
    assert isinstance(answer, Written)
    again = await bench.one.read()
    assert isinstance(again, Found)
    assert again.lease.epoch == lease.epoch + 1


async def test_a_wish_of_an_operator_is_not_overwritten(bench: Bench) -> None:
    lease = await bench.begun()
    requests = {"metadata": {"annotations": {"gantrymq.dev/preferred": "2"}}}
    bench.api.objects.patch(KEY, requests)
    assert await bench.one.write(replace(lease, renewals=1)) == Conflict()
    found = await bench.one.read()
    assert isinstance(found, Found)
    assert found.lease.operator_requests.preferred == 2
    assert isinstance(await bench.one.write(replace(found.lease, renewals=1)), Written)


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.FAIL, Fault.CUT])
async def test_no_clear_answer_is_none(bench: Bench, fault: Fault) -> None:
    await must_be_no_answer(bench, fault)


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.LOSE])
async def test_no_answer_in_time_is_none(hasty: Bench, fault: Fault) -> None:
    await must_be_no_answer(hasty, fault)


async def must_be_no_answer(bench: Bench, fault: Fault) -> None:
    lease = await bench.begun()
    bench.fault(fault)
    assert isinstance(await bench.one.read(), Unanswered)
    assert isinstance(await bench.one.write(replace(lease, renewals=1)), Unanswered)
    bench.fault(Fault.NONE)
    found = await bench.one.read()
    assert isinstance(found, Found)
    assert found.lease.renewals == (1 if fault in (Fault.LOSE, Fault.CUT) else 0)


async def test_a_renewal_carries_the_problems_of_the_master(bench: Bench) -> None:
    problems = ["the Service: the API answers 403", "x" * 5000]
    bench.problems.extend(problems)
    lease = await bench.begun()
    written = await bench.one.write(replace(lease, renewals=1))
    assert isinstance(written, Written)
    notes = bench.api.objects.objects[KEY]["metadata"]["annotations"]
    first, second = notes[PROBLEMS].split("\n")
    assert first == problems[0]
    assert len(second) < 500
    bench.problems.clear()
    again = replace(lease, version=written.version, renewals=2)
    assert isinstance(await bench.one.write(again), Written)
    assert PROBLEMS not in bench.api.objects.objects[KEY]["metadata"]["annotations"]


async def test_it_is_known_when_the_last_renewal_of_an_epoch_was_sent(bench: Bench) -> None:
    lease = await bench.begun()
    began = asyncio.get_running_loop().time()
    assert bench.one.renewed_at(1, 1) <= began
    assert bench.one.renewed_at(1, 2) == bench.one.renewed_at(2, 1) == float("-inf")
    bench.fault(Fault.FAIL)
    assert isinstance(await bench.one.write(replace(lease, renewals=1)), Unanswered)
    assert bench.one.renewed_at(1, 1) <= began, "it is not known to have been carried out"
    assert "etcdserver: no leader" in (bench.one.failure or "")
    bench.fault(Fault.NONE)
    found = await bench.one.read()
    assert isinstance(found, Found)
    assert isinstance(await bench.one.write(replace(found.lease, renewals=1)), Written)
    assert bench.one.renewed_at(1, 1) >= began
    assert bench.one.failure is None
    assert bench.one.answered_at >= bench.one.renewed_at(1, 1)


async def test_wishes_that_were_left_out_are_known(bench: Bench) -> None:
    await bench.begun()
    assert not bench.one.ignored
    requests = {"metadata": {"annotations": {"gantrymq.dev/preferred": "broker-2"}}}
    bench.api.objects.patch(KEY, requests)
    await bench.one.read()
    [ignored] = bench.one.ignored
    assert "gantrymq.dev/preferred is 'broker-2'" in ignored


async def test_a_write_is_never_repeated(bench: Bench) -> None:
    lease = await bench.begun()
    bench.fault(Fault.CUT, "PUT")
    # On a connection that has served already, where HTTP clients like to try again.
    assert isinstance(await bench.one.write(replace(lease, renewals=1)), Unanswered)
    assert bench.api.ports[0].asked.count(f"PUT {PLACE.name}") == 1


async def test_log_says_whether_the_master_sent_anything(hasty: Bench) -> None:
    lease = await hasty.begun()
    hasty.fault(Fault.HANG)
    hung = await hasty.one.write(replace(lease, renewals=1))
    assert isinstance(hung, Unanswered)
    assert "sent, and not answered: in 0.7 s" in hung.text
    await hasty.api.stop()
    refused = await hasty.other.read()
    assert isinstance(refused, Unanswered)
    assert "was not sent" in refused.text


async def test_a_damaged_lease_is_read_with_a_doubt(bench: Bench) -> None:
    await bench.begun()
    patch = {"metadata": {"annotations": {"gantrymq.dev/in-sync": None}}}
    bench.api.objects.patch(KEY, patch)
    answer = await bench.one.read()
    assert isinstance(answer, Found)
    assert answer.lease.untrusted_reason is not None
    assert "gantrymq.dev/in-sync" in answer.lease.untrusted_reason


async def test_a_slow_api_is_answered_after_one_request_that_came_too_soon(hasty: Bench) -> None:
    lease = await hasty.begun()
    hasty.fault(Fault.EARLY)
    hasty.api.ports[0].seconds = 0.75
    assert isinstance(await hasty.one.read(), Unanswered)
    assert await hasty.one.read() == Found(lease)
    assert isinstance(await hasty.one.write(replace(lease, renewals=1)), Written)


async def test_a_connection_that_hangs_costs_one_timeout(hasty: Bench) -> None:
    lease = await hasty.begun()
    hasty.fault(Fault.HANG)
    began = asyncio.get_running_loop().time()
    assert isinstance(await hasty.one.read(), Unanswered)
    assert asyncio.get_running_loop().time() - began < 2 * kube_api.REQUEST_SECONDS
    hasty.fault(Fault.NONE)
    assert await hasty.one.read() == Found(lease)


# ---------------------------------------------------------------------- a Lease of earlier versions

NEW_PLACE = ObjectName("mq", "main-broker-0-0123456789")


def moving(bench: Bench, settled: list[ObjectName], owner: str = "main/broker-0") -> LeaseClient:
    """A member whose Lease may be where earlier versions have it."""
    return LeaseClient(
        bench.http, NEW_PLACE, lambda: 0, owner=owner, former=PLACE, settled=settled.append
    )


async def test_a_group_of_an_earlier_version_keeps_its_lease(bench: Bench) -> None:
    lease, settled = await bench.begun(), list[ObjectName]()
    client = moving(bench, settled)
    assert await client.read() == Found(lease)
    assert settled == [PLACE]
    assert isinstance(await client.write(replace(lease, renewals=1)), Written)
    notes = bench.api.objects.objects[KEY]["metadata"]["annotations"]
    assert (notes["gantrymq.dev/renewals"], notes[OWNER]) == ("1", "main/broker-0")


async def test_a_new_group_makes_its_lease_under_the_new_name(bench: Bench) -> None:
    settled = list[ObjectName]()
    client = moving(bench, settled)
    assert await client.read() == Missing()
    assert settled == [], "members of an earlier version may still make it"
    assert isinstance(await client.write(FIRST), Written)
    assert settled == [NEW_PLACE]
    assert [key[2] for key in bench.api.objects.objects] == [NEW_PLACE.name]


async def test_the_lease_of_another_group_is_not_taken_for_an_earlier_one(bench: Bench) -> None:
    lease, settled = await bench.begun(), list[ObjectName]()
    other = moving(bench, settled, "main-broker/0")
    assert isinstance(await other.read(), Found), "an earlier version does not say whose it is"
    assert isinstance(await other.write(replace(lease, renewals=1)), Written)
    assert await moving(bench, settled).read() == Missing()


async def test_an_api_that_does_not_answer_settles_nothing(bench: Bench) -> None:
    await bench.begun()
    settled = list[ObjectName]()
    client = moving(bench, settled)
    bench.fault(Fault.FAIL)
    assert isinstance(await client.read(), Unanswered)
    assert settled == []
    bench.fault(Fault.NONE)
    assert isinstance(await client.read(), Found)
