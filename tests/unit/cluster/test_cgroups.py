"""Tests which control group files freeze, admit and remove a node, on both versions.

The folders are plain ones: the smoke test checks the kernel's behaviour.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.local import cgroups


@pytest.fixture
def version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for controller in ("freezer", "memory"):
        (tmp_path / controller).mkdir()
        (tmp_path / controller / "cgroup.procs").touch()
    (tmp_path / "unmounted").mkdir()
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    monkeypatch.setattr(cgroups, "FREEZER", tmp_path / "freezer")
    return tmp_path


@pytest.fixture
def version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cgroup.controllers").touch()
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    return tmp_path


def test_version_1_has_a_group_in_every_hierarchy(version_1: Path) -> None:
    cgroups.prepare(2)
    groups = sorted(str(path.relative_to(version_1)) for path in version_1.rglob("node2"))
    assert groups == ["freezer/gantry-cluster/node2", "memory/gantry-cluster/node2"]


def test_version_1_freezes_by_the_freezer(version_1: Path) -> None:
    cgroups.prepare(2)
    group = version_1 / "freezer" / "gantry-cluster" / "node2"
    (group / "freezer.state").touch()
    cgroups.admit(2, 77)
    assert (group / "cgroup.procs").read_text() == "77"
    cgroups.set_frozen(2, frozen=True)
    assert (group / "freezer.state").read_text() == "FROZEN"
    assert cgroups.is_frozen(2)
    cgroups.set_frozen(2, frozen=False)
    assert not cgroups.is_frozen(2)


def test_version_2_delegates_controllers_and_keeps_processes_in_a_leaf(version_2: Path) -> None:
    cgroups.prepare(2)
    cgroups.admit(2, 77)
    group = version_2 / "gantry-cluster" / "node2"
    for parent in (version_2, group.parent, group):
        assert "+memory" in (parent / "cgroup.subtree_control").read_text()
    assert (group / "init" / "cgroup.procs").read_text() == "77"


def test_version_2_freezes_the_whole_node(version_2: Path) -> None:
    cgroups.prepare(2)
    file = version_2 / "gantry-cluster" / "node2" / "cgroup.freeze"
    file.touch()
    cgroups.set_frozen(2, frozen=True)
    assert file.read_text() == "1"
    assert cgroups.is_frozen(2)
    cgroups.set_frozen(2, frozen=False)
    assert not cgroups.is_frozen(2)


def test_groups_of_dead_pods_go_with_their_node(version_1: Path) -> None:
    cgroups.prepare(1)
    cgroups.prepare(2)
    (version_1 / "memory" / "gantry-cluster" / "node2" / "kubepods" / "pod1").mkdir(parents=True)
    cgroups.remove(2)
    assert [path.name for path in version_1.rglob("node*")] == ["node1", "node1"]
    cgroups.remove_all()
    assert list(version_1.rglob("gantry-cluster")) == []


def test_a_node_that_was_never_on_is_not_frozen(version_1: Path) -> None:
    assert version_1.exists()
    assert not cgroups.is_frozen(3)
