"""Fixtures of the tests on a real Kubernetes: the cluster, the images, the installed operator."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest

from cluster.settings import NETWORK, POD_NETWORK
from gantrymq.e2e import java_client, kubectl
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Namespace
from gantrymq.e2e.operator_install import Operator, build_images

_numbers = itertools.count(1)
GONE_SECONDS = 120.0
FIRST, LAST = "test_first_message", "test_rights"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What measures an installation from nothing comes first, what sums up comes last."""
    items.sort(key=lambda item: (item.path.stem == LAST, item.path.stem != FIRST))


@pytest.fixture(scope="session", autouse=True)
def cluster() -> None:
    """A cluster answers; otherwise all tests fail and say what to do."""
    missing = kubectl.missing_cluster()
    if missing:
        pytest.fail(missing, pytrace=False)
    # The local cluster: the host has routes to it. tests/conftest.py refuses all others.
    os.environ["GANTRY_TEST_NETWORKS"] = f"{POD_NETWORK}.0.0/16 {NETWORK}.0/24"


@pytest.fixture(scope="session")
def images() -> dict[str, str]:
    """The components' images of this checkout, on every node."""
    return build_images()


@pytest.fixture(scope="session")
def operator(images: dict[str, str]) -> Iterator[Operator]:
    """The chart, installed; KEEP=1 leaves it for a look afterwards."""
    installed = Operator(images)
    installed.install()
    yield installed
    if os.environ.get("KEEP") == "1":
        return
    try:
        kubectl.wait_until_gone(GONE_SECONDS)
    finally:
        installed.uninstall()
        installed.namespace.delete()


@pytest.fixture(scope="session")
def java_image() -> str:
    """RocketMQ's Java clients, on every node."""
    return java_client.build_image()


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """A namespace of the test's own, where the restricted Pod Security level holds.

    The next test does not wait for its deletion: where there are pods it takes half of their grace
    period and more, although they end at once. The operator is uninstalled once all are gone.
    """
    made = Namespace(f"e2e-{os.getpid()}-{next(_numbers)}").create()
    yield made
    if os.environ.get("KEEP") != "1":
        made.begin_deletion()


@pytest.fixture
def figures(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Figures:
    """What the test measures, shown and kept."""
    return Figures(request.node.name, capsys)
