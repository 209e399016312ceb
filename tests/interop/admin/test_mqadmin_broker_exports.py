"""Tests that mqadmin exports the same from Gantry's broker as from Java's."""

import json
import re
from collections.abc import Callable

import pytest

from gantrymq.interop.admin.admin_commands import EXPORTED_BY_ONE, JAVA_ONLY_TOPICS_AND_GROUPS
from gantrymq.interop.admin.admin_pair import Pair
from gantrymq.interop.admin.admin_sides import CLUSTER, AdminSide
from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.clients.drivers import MqAdmin
from gantrymq.interop.releases import REFERENCE

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (f"exportMetadata -c {CLUSTER} -f {{folder}}", "metadata"),
        ("exportMetadata -b {broker} -f {folder} -t", "topic"),
        ("exportMetadata -b {broker} -f {folder} -g", "subscriptionGroup"),
    ],
)
def test_exports(exporting: Pair, command: str, name: str) -> None:
    exporting.same(command)
    reference, subject = exported(exporting, name)
    assert subject == reference


def test_exported_settings_and_figures(
    admins: Callable[[str], MqAdmin], admin_pair: tuple[AdminSide, AdminSide], kind: BrokerKind
) -> None:
    both = Pair(admins(REFERENCE), admin_pair)
    both.same(f"exportConfigs -c {CLUSTER} -f {{folder}}")
    both.same(f"exportMetrics -c {CLUSTER} -f {{folder}}")
    own = EXPORTED_BY_ONE if kind is BrokerKind.GANTRY else set()
    for name in ("configs", "metrics"):
        reference, subject = (_names(each) for each in exported(both, name))
        assert reference ^ subject <= own


@pytest.mark.parametrize(
    ("command", "reads_java"),
    [("exportConfigs", True), ("exportMetrics", False), ("exportMetadata", False)],
)
def test_newest_tool_exports_from_gantry(
    of_5: Pair, kind: BrokerKind, command: str, reads_java: bool
) -> None:
    # A Java broker writes a static topic with numbers as names, which the newest tool cannot read.
    of_5.outputs("updateStaticTopic -b broker-admin -t StaticTopic -qn 2")
    reference, subject = of_5.outputs(f"{command} -c {CLUSTER} -f {{folder}}")
    assert ("success" in reference) == reads_java, reference
    assert ("success" in subject) == (reads_java or kind is BrokerKind.GANTRY), subject


@pytest.mark.parametrize("command", ["exportConfigs", "exportMetrics"])
def test_older_tool_exports_only_from_gantry(of_4: Pair, kind: BrokerKind, command: str) -> None:
    reference, subject = of_4.outputs(f"{command} -c {CLUSTER} -f {{folder}}")
    assert "NullPointerException" in reference
    assert ("success" in subject) == (kind is BrokerKind.GANTRY)


def exported(pair: Pair, name: str) -> list[object]:
    """The files that the tool has written, Java's first."""
    texts = [(side.export_folder / f"{name}.json").read_text() for side in pair.sides]
    return [_shape(json.loads(text)) for text in texts]


def _names(value: object) -> set[str]:
    if not isinstance(value, dict):
        return set()
    return set(value).union(*map(_names, value.values()))


def _shape(value: object) -> object:
    """The value without times, figures, and members that only Java has."""
    if isinstance(value, dict):
        left_out = {"exportTime", "dataVersion", *JAVA_ONLY_TOPICS_AND_GROUPS}
        return {key: _shape(each) for key, each in value.items() if key not in left_out}
    if isinstance(value, list):
        return sorted(map(str, value))
    return re.sub(r"127\.0\.0\.1:\d+|\d+(\.\d+)?", "<n>", str(value))
