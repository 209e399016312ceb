"""Tests every image in a real container: user, read-only root file system, no capabilities."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.client import ConsumeFrom, Message
from gantrymq.client.blocking import Producer, PullConsumer
from gantrymq.images.container import USER, Container, Image, children_of, output_of
from gantrymq.testing.server import free_ports
from images import build
from images.components import wanted
from images.engine import Buildah

TESTS = Path(__file__).resolve().parent.parent
COMPONENTS = wanted({})
DEPLOYED = [component.name for component in COMPONENTS if component.is_deployed]

pytestmark = pytest.mark.timeout(1200)  # the first test may build the images


@pytest.fixture(scope="module")
def images() -> Iterator[dict[str, Image]]:
    """The images of this checkout; builds them unless they exist."""
    release, _ = build.build(Buildah(), COMPONENTS)
    opened = {name: Image.open(release.reference(name)) for name in DEPLOYED}
    yield opened
    for image in opened.values():
        image.close()


@pytest.mark.parametrize("name", DEPLOYED)
def test_an_image_runs_the_compiled_modules(images: dict[str, Image], name: str) -> None:
    assert "hot modules compiled" in output_of(images[name], "--version")


@pytest.mark.parametrize("name", DEPLOYED)
def test_labels_of_an_image(images: dict[str, Image], name: str) -> None:
    image = images[name]
    labels = image.configuration["Labels"]
    assert labels["org.opencontainers.image.title"] == f"gantry-{name}"
    assert labels["org.opencontainers.image.version"] in output_of(image, "--version")
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert len(labels["org.opencontainers.image.revision"].removesuffix("-dirty")) == 40
    assert image.configuration["ExposedPorts"]
    assert image.configuration["StopSignal"] == "SIGTERM"
    assert "Apache License" in (image.root / "licenses" / "LICENSE").read_text()


@pytest.mark.parametrize("name", DEPLOYED)
def test_the_user_is_not_root_and_has_a_name(images: dict[str, Image], name: str) -> None:
    assert images[name].configuration["User"] == USER
    script = "import getpass, os; print(getpass.getuser(), os.getuid(), os.path.expanduser('~'))"
    told = output_of(images[name], "-c", script, entrypoint="/usr/bin/python3")
    assert told == "gantry 10911 /var/lib/gantry\n"


@pytest.mark.parametrize("name", DEPLOYED)
def test_every_source_has_bytecode_or_a_library(images: dict[str, Image], name: str) -> None:
    """The root file system is read-only: modules without bytecode would be compiled at every
    start."""
    installed = images[name].root / "opt" / "gantry" / "lib"
    sources = list(installed.rglob("*.py"))
    assert len(sources) > 300
    slow = [
        path.relative_to(installed)
        for path in sources
        if not (path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc").exists()
        and not list(path.parent.glob(f"{path.stem}.*.so"))
    ]
    assert slow == []


def test_administrators_find_mqadmin(images: dict[str, Image]) -> None:
    mqadmin = "/usr/local/bin/mqadmin"
    assert "updateTopic" in output_of(images["broker"], "--help", entrypoint=mqadmin)


def test_the_operator_has_kopf(images: dict[str, Image]) -> None:
    assert output_of(
        images["operator"], "-c", "import kopf; print(kopf.__version__)",
        entrypoint="/usr/bin/python3",
    ).startswith("1.45")  # fmt: skip


def test_operator_without_kubernetes_names_what_is_missing(images: dict[str, Image]) -> None:
    configuration_error = 78
    with Container(images["operator"], images["operator"].command) as container:
        assert container.wait() == configuration_error, container.output
        assert "run the operator in a pod" in container.output


def test_a_message_passes_and_sigterm_ends_everything_in_time(images: dict[str, Image]) -> None:
    names, broker_port, names_metrics, broker_metrics = free_ports()
    ha_port, *_ = free_ports()  # the port above listenPort may belong to another process
    address = f"127.0.0.1:{names}"
    name_server = Container(images["namesrv"], [
        *images["namesrv"].command,
        "--set", f"listenPort={names}", "--set", f"metricsPort={names_metrics}",
    ])  # fmt: skip
    broker = Container(images["broker"], [
        *images["broker"].command, "-n", address, "--set", "brokerIP1=127.0.0.1",
        "--set", f"listenPort={broker_port}", "--set", f"metricsPort={broker_metrics}",
        "--set", f"haListenPort={ha_port}",
    ])  # fmt: skip
    with name_server, broker:
        name_server.wait_for_line("boot success")
        broker.wait_for_line("boot success")
        created = output_of(
            images["broker"], "updateTopic", "-n", address, "-t", "greetings",
            "-b", f"127.0.0.1:{broker_port}",
        )  # fmt: skip
        assert "success" in created
        assert send_and_receive(address, "greetings", "hello") == "hello"
        assert "gantry_event_loop_lag_seconds" in page(f"http://127.0.0.1:{broker_metrics}/metrics")
        assert broker.stop() == 0, broker.output
        assert name_server.stop() == 0, name_server.output


def send_and_receive(name_servers: str, topic: str, body: str) -> str:
    with Producer("image-test", name_servers=name_servers) as producer:
        producer.send(Message(topic, body))
    with PullConsumer(
        "image-test-readers", name_servers=name_servers, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe(topic)
        return next(iter(consumer)).body.decode()


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - loopback
        return str(answer.read().decode())


def test_process_1_ends_on_sigterm_before_its_program_handles_signals(
    images: dict[str, Image],
) -> None:
    """A command installs no handler, and the kernel drops signals without one for process 1."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with Container(images["broker"], ["clusterList", "-n", address]) as container:
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                os.kill(container.process_1, signal.SIGTERM)
                assert container.wait(5) == 128 + signal.SIGTERM


def test_process_1_releases_the_lease_of_a_killed_master(images: dict[str, Image]) -> None:
    api_port, broker_port, replication_port, _ = free_ports()
    settings = {
        "listenPort": broker_port, "haListenPort": replication_port, "metricsPort": 0,
        "brokerIP1": "127.0.0.1", "brokerName": "broker-a", "brokerRole": "SYNC_MASTER",
        "groupMembers": f"1=127.0.0.1:{replication_port}", "memberNumber": 1,
        "groupSecretFile": "secret", "leaseUrl": f"http://127.0.0.1:{api_port}",
        "leaseNamespace": "default", "leaseName": "broker-a", "minInSyncReplicas": 1,
    }  # fmt: skip
    flags = " ".join(f"--set {key}={value}" for key, value in settings.items())
    script = f"echo a secret of sixteen bytes >secret && exec gantry broker --guarded {flags}"
    with (
        lease_api(api_port) as lease_holder,
        Container(images["broker"], ["-c", script], entrypoint="/bin/sh") as container,
    ):
        container.wait_until(lambda: lease_holder() == "1", "member 1 is master")
        (broker,) = children_of(container.process_1)
        os.kill(broker, signal.SIGKILL)
        assert container.wait() == 128 + signal.SIGKILL, container.output
        assert lease_holder() == ""


@contextlib.contextmanager
def lease_api(port: int) -> Iterator[Callable[[], str]]:
    """A small API of leases; provides a function that reads the holder of the Lease `broker-a`."""
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/broker-a"

    def holder() -> str:
        try:
            lease = json.loads(page(f"http://127.0.0.1:{port}{path}"))
        except OSError:  # the API does not listen yet, or has no such Lease yet
            return ""
        return str(lease["spec"].get("holderIdentity") or "")

    command = [sys.executable, "-m", "gantrymq.fakes.groups.lease_api", "--port", str(port)]
    server = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(TESTS)})
    try:
        yield holder
    finally:
        server.kill()
        server.wait()
