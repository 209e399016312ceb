"""Tests what the cluster leaves on the host, and when two clusters are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster.local import lifecycle
from cluster.settings import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(state=tmp_path / "state", cache=tmp_path / "cache")
    found.state.mkdir()
    return found


def test_folders_that_do_not_exist_are_listed_before_their_parents(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    wanted = [f"{tmp_path}/etc/cni/net.d", f"{tmp_path}/var/lib"]
    assert lifecycle.missing_folders(wanted) == [
        f"{tmp_path}/var/lib",
        f"{tmp_path}/etc/cni/net.d",
        f"{tmp_path}/etc/cni",
        f"{tmp_path}/etc",
    ]


def test_folders_are_removed_if_they_are_empty(layout: Layout, tmp_path: Path) -> None:
    wanted = [f"{tmp_path}/etc/cni/net.d", f"{tmp_path}/log/pods"]
    created = lifecycle.missing_folders(wanted)
    (layout.state / "created-folders.json").write_text(json.dumps(created))
    for folder in wanted:
        Path(folder).mkdir(parents=True)
    (tmp_path / "log" / "another").touch()
    lifecycle.remove_created_folders(layout)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "state"]
    assert [path.name for path in (tmp_path / "log").iterdir()] == ["another"]


def test_cluster_with_other_binaries_is_another_cluster(layout: Layout) -> None:
    one, two = Path("/cache/bin/1"), Path("/cache/bin/2")
    assert lifecycle.configuration_key(layout, one) == lifecycle.configuration_key(layout, one)
    assert lifecycle.configuration_key(layout, one) != lifecycle.configuration_key(layout, two)


def test_status_without_a_cluster_says_so(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lifecycle.status(layout) is False
    assert "no local cluster runs on this machine: make cluster-up" in capsys.readouterr().out
