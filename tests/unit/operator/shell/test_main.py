"""Tests the operator as a process, with kopf and a simulated API server."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from gantrymq.app.entry import dispatch
from gantrymq.fakes_kube.operating import add_cluster, is_quiet
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.shell.program import EXIT_LOST

pytestmark = pytest.mark.usefixtures("life")

LEASE = ("Lease", "system", "gantry-operator")


class Running:
    """An operator process, and the lines it has logged."""

    def __init__(self, process: Process) -> None:
        self.lines: list[str] = []
        self.process = process
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.lines.append(line.decode())

    def has_logged(self, words: str) -> bool:
        return any(words in line for line in self.lines)

    async def until_logged(self, words: str) -> str:
        await until(lambda: self.has_logged(words) or self.process.returncode is not None)
        assert self.has_logged(words), "".join(self.lines)
        return next(line for line in self.lines if words in line)

    async def end(self) -> int:
        """Wait for the process to end by itself; the exit code."""
        code = await asyncio.wait_for(self.process.wait(), 30)
        await self._reading
        return code


Start = Callable[..., Awaitable[Running]]


@pytest.fixture
async def start(server: KubeServer, tmp_path: Path) -> AsyncIterator[Start]:
    """Starts operators; those that still run at the end are killed."""
    config = tmp_path / "kubeconfig"
    config.write_text(
        yaml.safe_dump(
            {
                "current-context": "c",
                "contexts": [
                    {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "system"}}
                ],
                "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
            }
        )
    )
    started: list[Running] = []

    async def start(*options: str) -> Running:
        flags = ("--kubeconfig", str(config), "--metrics-host", "127.0.0.1", "--metrics-port", "0")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "gantrymq.operator", *flags, *options, stderr=PIPE
        )
        started.append(Running(process))
        return started[-1]

    yield start
    for running in started:
        with suppress(ProcessLookupError):
            running.process.kill()
        await running.end()


def holder(server: KubeServer) -> str:
    lease = server.get(*LEASE)
    return "" if lease is None else str(lease["spec"]["holderIdentity"])


async def get(running: Running, path: str) -> tuple[int, str]:
    line = await running.until_logged("metrics=")
    address = re.search(r"metrics=(\S+)", line)
    assert address is not None
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{address[1]}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def test_kopf_reports_a_new_cluster(server: KubeServer, start: Start) -> None:
    running = await start()
    await running.until_logged("leading")
    await until(lambda: server.calls.requests["WATCH brokerclusters"])
    lists = server.calls.requests["LIST brokerclusters"]

    add_cluster(server)

    await until(lambda: is_quiet(server))
    assert server.calls.requests["LIST brokerclusters"] == lists
    found = server.get("BrokerCluster", "one", "orders")
    assert found is not None
    assert "finalizers" not in found["metadata"]
    assert "annotations" not in found["metadata"]


async def test_probes_and_metrics_are_served(server: KubeServer, start: Start) -> None:
    add_cluster(server)
    running = await start()
    await until(lambda: is_quiet(server))

    assert await get(running, "/health/live") == (200, "alive\n")
    assert await get(running, "/health/ready") == (200, "ready\n")
    _, metrics = await get(running, "/metrics")
    assert "gantry_operator_leader 1.0" in metrics
    assert 'gantry_operator_reconciles_total{work="clusters",outcome="done"}' in metrics
    assert 'gantry_operator_cached_objects{kind="statefulsets"} 2.0' in metrics


async def test_sigterm_hands_over_to_the_standby(server: KubeServer, start: Start) -> None:
    first = await start()
    await first.until_logged("leading")
    second = await start()
    await second.until_logged("standing by")
    leader = holder(server)
    assert await get(second, "/health/ready") == (200, "ready\n")

    first.process.send_signal(signal.SIGTERM)

    assert await first.end() == 0
    assert first.has_logged("released leadership")
    await second.until_logged("leading")
    assert holder(server) not in ("", leader)


async def test_a_lost_lease_ends_the_process(server: KubeServer, start: Start) -> None:
    running = await start()
    await running.until_logged("leading")
    lease = server.get(*LEASE)
    assert lease is not None
    spec: dict[str, Any] = lease["spec"] | {"holderIdentity": "another"}

    server.put("Lease", {"metadata": {"namespace": "system", "name": LEASE[2]}, "spec": spec})

    assert await running.end() == EXIT_LOST
    assert running.has_logged("lost leadership, exiting")
    assert holder(server) == "another"


async def test_it_waits_for_the_kinds_to_be_installed(server: KubeServer, start: Start) -> None:
    server.faults.list_refusals["brokerclusters"] = (404, "no such resource")
    add_cluster(server)
    running = await start()
    await running.until_logged("install the CustomResourceDefinitions")

    server.faults.list_refusals.clear()

    await until(lambda: is_quiet(server))


async def test_a_forbidden_namespace_does_not_affect_others(
    server: KubeServer, start: Start
) -> None:
    server.faults.list_refusals["*/gone"] = (403, "forbidden")
    running = await start("--namespace", "gone", "--namespace", "one")
    # Lists by the resync and by kopf, of each namespace; kopf follows what it may list.
    await until(lambda: server.calls.requests["LIST brokerclusters"] >= 4)
    await until(lambda: server.calls.requests["WATCH brokerclusters"])

    add_cluster(server)

    await until(lambda: is_quiet(server))
    _, metrics = await get(running, "/metrics")
    assert 'gantry_operator_reflector_refused{kind="pods/gone"} 1.0' in metrics
    assert 'gantry_operator_reflector_refused{kind="pods/one"} 0.0' in metrics
    said = [line for line in running.lines if "not allowed to list" in line and "pods/gone" in line]
    assert len(said) == 1
    assert running.process.returncode is None


async def test_a_missing_kubeconfig_is_an_error(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gantrymq.operator", "--kubeconfig", str(tmp_path / "none"),
        stderr=PIPE,
    )  # fmt: skip

    _, text = await process.communicate()

    assert process.returncode == 78
    assert b"give --kubeconfig" in text


def test_without_kopf_the_program_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert dispatch(["operator"]) == 78
    assert "pip install 'gantrymq[operator]'" in capsys.readouterr().err
