"""Tests that the Service of a group leads to its master, and what members report about it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from gantrymq.broker.member import slice_keeper
from gantrymq.fakes.groups.host_groups import (
    LEASE,
    SLICE,
    HostGroup,
    group_of,
    until,
)

pytestmark = pytest.mark.usefixtures("patient_requests")


async def test_the_service_leads_to_the_master(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        await until(lambda: SLICE in group.api.objects.objects)
        content = group.api.objects.objects[SLICE]
        port = group.hosts[group.holder].addresses["internal"][1]
        assert content["endpoints"][0]["addresses"] == ["127.0.0.1"]
        assert content["ports"][0] == {"name": "broker", "port": port, "protocol": "TCP"}


async def test_a_slice_that_was_deleted_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_keeper, "LOOK_SECONDS", 0.05)
    async with group_of(tmp_path, 1, 2) as group:
        slices = group.api.objects.objects
        for _ in range(2):
            await until(lambda: SLICE in slices)
            [endpoint] = slices[SLICE]["endpoints"]
            assert endpoint["nodeName"] == f"node-{group.holder}"
            assert endpoint["targetRef"]["name"] == f"broker-a-{group.holder}"
            group.api.objects.delete(SLICE)
        await until(lambda: SLICE in slices)


async def test_service_with_the_wrong_ports_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_keeper, "LOOK_SECONDS", 0.01)
    group = HostGroup(tmp_path, 1)
    await group.begin()
    service = {"name": "mq", "port": 10911}
    group.api.objects.post(
        ("services", "mq", ""),
        {"kind": "Service", "metadata": {"name": "broker-a"}, "spec": {"ports": [service]}},
    )
    tries = group.api.ports[0].asked
    async with group.running(1, minInSyncReplicas="1"):
        await until(lambda: tries.count(f"GET {SLICE[2]}") >= 3)
    await group.api.stop()
    assert caplog.text.count("has ports named 'mq', which have no endpoint") == 1


async def test_a_new_master_takes_the_service_over_from_a_slice_of_a_higher_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An EndpointSlice is left of another group of this name, whose epochs went further."""
    monkeypatch.setattr(slice_keeper, "AGAIN_SECONDS", 0.05)
    later = {"metadata": {"annotations": {"gantrymq.dev/epoch": "99"}}}
    async with group_of(tmp_path, 1, 2) as group:
        old = group.holder
        await until(lambda: SLICE in group.api.objects.objects)
        group.api.objects.patch(SLICE, later)
        with caplog.at_level(logging.INFO):
            await group.ends[old].aclose()
            await until(lambda: "published master address in the Service" in caplog.text)
        node = group.api.objects.objects[SLICE]["endpoints"][0]["nodeName"]
        assert node == f"node-{group.holder}" == f"node-{3 - old}"
    assert caplog.text.count("publishing master address failed") == 1


async def test_lease_shows_the_problems_that_the_master_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_keeper, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(slice_keeper, "SURVEY_SECONDS", 0.05)
    foreign = {
        "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "by-hand", "labels": {"kubernetes.io/service-name": "broker-a"}},
    }  # fmt: skip
    async with group_of(tmp_path, 1, 2) as group:

        def problems() -> str:
            notes = group.api.objects.objects[LEASE]["metadata"]["annotations"]
            return str(notes.get("gantrymq.dev/problems", ""))

        group.api.objects.post(("endpointslices", "mq", ""), foreign)
        await until(lambda: "kubectl delete endpointslice by-hand" in problems())
        group.api.objects.delete(("endpointslices", "mq", "by-hand"))
        await until(lambda: not problems())
