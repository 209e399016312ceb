"""Provides both brokers and the releases of mqadmin that tests compare on them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.interop.admin.admin_pair import Pair
from gantrymq.interop.admin.admin_sides import AdminSide, admin_sides
from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.clients.drivers import MqAdmin
from gantrymq.interop.releases import NEWEST, OLDEST, REFERENCE


@pytest.fixture(scope="session")
def kind() -> BrokerKind:
    """The program that is the broker under test."""
    return BrokerKind(os.environ.get("INTEROP_BROKER", BrokerKind.GANTRY.value))


@pytest.fixture(scope="module")
def admin_pair(
    kind: BrokerKind, folder: Callable[[str], Path]
) -> Iterator[tuple[AdminSide, AdminSide]]:
    """Both sides, for the whole module."""
    with admin_sides(kind, folder) as sides:
        yield sides


@pytest.fixture
def both(admin: MqAdmin, admin_pair: tuple[AdminSide, AdminSide]) -> Pair:
    """The tool of each release."""
    return Pair(admin, admin_pair)


@pytest.fixture
def of_5(admins: Callable[[str], MqAdmin], admin_pair: tuple[AdminSide, AdminSide]) -> Pair:
    """The tool for commands that only the newer release has."""
    return Pair(admins(NEWEST), admin_pair)


@pytest.fixture(params=[REFERENCE, OLDEST])
def exporting(
    request: pytest.FixtureRequest,
    admins: Callable[[str], MqAdmin],
    admin_pair: tuple[AdminSide, AdminSide],
) -> Pair:
    """Tools that can read any export of Java's broker. The newest one cannot."""
    return Pair(admins(request.param), admin_pair)


@pytest.fixture
def of_4(admins: Callable[[str], MqAdmin], admin_pair: tuple[AdminSide, AdminSide]) -> Pair:
    """The tool for commands that only the older release has."""
    return Pair(admins(OLDEST), admin_pair)
