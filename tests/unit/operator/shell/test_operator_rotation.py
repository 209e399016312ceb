"""Tests a secret rotation from the command to the brokers' files, over real sockets."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gantrymq.base.group_secret import SECRETS_PATH
from gantrymq.broker.setup.secret_file import SecretFile
from gantrymq.fakes_kube.life import Life
from gantrymq.fakes_kube.objects import Json, Place
from gantrymq.fakes_kube.operating import add_cluster, is_quiet, operating, status
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.ctl.main import run
from gantrymq.operator.plan.objects.secret import REQUEST
from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.metrics import Metrics

MEMBERS = 2


class Kubelets:
    """Each brings the Secret to the file of one member, unless it is held."""

    def __init__(self, server: KubeServer, folder: Path) -> None:
        self.held: set[int] = set()
        self.contents: list[bytes] = []
        """The contents of all versions of the Secret, in order."""
        self.paths = [folder / f"secret-{member}" for member in range(MEMBERS)]
        self._server = server
        for path in self.paths:
            path.write_bytes(b"0123456789abcdef")
        server.on_write(self._react)

    def _react(self, place: Place, item: Json) -> None:
        if place.plural == "secrets":
            content = base64.b64decode(item["data"]["secret"])
            if [content] != self.contents[-1:]:
                self.contents.append(content)
            self.bring()

    def bring(self) -> None:
        for member, path in enumerate(self.paths):
            if member not in self.held:
                path.write_bytes(self.contents[-1])


@pytest.fixture
async def kubelets(server: KubeServer, life: Life, tmp_path: Path) -> Kubelets:
    del life
    return Kubelets(server, tmp_path)


@pytest.fixture
async def metrics_port(kubelets: Kubelets) -> AsyncIterator[int]:
    """Where the members tell which secrets they have; member 1 has 127.0.0.1, and so on."""
    servers: list[HealthServer] = []
    port = 0
    for member, path in enumerate(kubelets.paths, 1):
        pages = {SECRETS_PATH: SecretFile(str(path)).report}
        servers.append(HealthServer(Metrics(), Readiness(), pages))
        _, port = await servers[-1].start(f"127.0.0.{member}", port)
    yield port
    for each in servers:
        await each.stop()


def kubeconfig(server: KubeServer, folder: Path) -> str:
    names = {"cluster": "c", "user": "u", "namespace": "one"}
    content = {
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": names}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(content))
    return str(path)


def is_asked(server: KubeServer) -> bool:
    found = server.get("BrokerCluster", "one", "orders")
    return found is not None and REQUEST in (found["metadata"].get("annotations") or {})


async def test_the_command_brings_a_new_secret_to_all_members(
    server: KubeServer,
    kubelets: Kubelets,
    metrics_port: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add_cluster(server)
    config = kubeconfig(server, tmp_path)
    async with operating(server, metrics_port=metrics_port) as operator:
        await until(lambda: is_quiet(server))
        command = ["rotate-secret", "orders", "--kubeconfig", config, "--timeout", "60"]
        running = asyncio.create_task(asyncio.to_thread(run, command))
        await until(lambda: is_asked(server))
        operator.resource_changed("one", "orders")  # as kopf says it
        assert await running == 0
        await until(lambda: is_quiet(server))

    first, both, turned, last = (each.split() for each in kubelets.contents)
    assert both == [*first, *last]
    assert turned == [*last, *first]
    assert first != last
    assert "all brokers of orders use the new secret alone" in capsys.readouterr().out


async def test_a_command_whose_time_is_over_says_which_member_has_not_read_the_secret(
    server: KubeServer,
    kubelets: Kubelets,
    metrics_port: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add_cluster(server)
    config = kubeconfig(server, tmp_path)
    async with operating(server, metrics_port=metrics_port) as operator:
        await until(lambda: is_quiet(server))
        kubelets.held.add(1)
        asking = ["rotate-secret", "orders", "--kubeconfig", config, "--no-wait"]
        assert await asyncio.to_thread(run, asking) == 0
        operator.resource_changed("one", "orders")
        await until(lambda: bool(status(server).get("secretRotation", {}).get("waitsFor")))
        assert await asyncio.to_thread(run, [*asking[:-1], "--timeout", "0"]) == 1
    told = capsys.readouterr().err
    assert "in progress already" in told
    assert "not read yet by orders-broker-0-1" in told
    kubelets.held.clear()
    kubelets.bring()

    # Another operator goes on where the first one was.
    async with operating(server, metrics_port=metrics_port):
        await until(lambda: status(server)["secretRotation"]["step"] == "Done")
    assert [len(each.split()) for each in kubelets.contents] == [1, 2, 2, 1]
