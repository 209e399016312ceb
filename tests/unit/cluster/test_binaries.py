"""Tests the cache key, the pinned versions and the linker flags of the cluster's binaries."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import binaries, machine
from cluster.settings import Layout
from cluster.shell import ClusterError

INPUTS = {"go.mod": b"module m\n", "go.sum": b"a b\n"}


def test_equal_inputs_have_equal_keys_whatever_their_order() -> None:
    reordered = dict(reversed(INPUTS.items()))
    assert binaries.build_key(INPUTS, "x86_64") == binaries.build_key(reordered, "x86_64")


@pytest.mark.parametrize(
    ("inputs", "architecture"),
    [
        ({**INPUTS, "go.sum": b"a c\n"}, "x86_64"),
        ({**INPUTS, "pause/main.go": b""}, "x86_64"),
        ({"go.mod": b"module m\na b\n", "go.sum": b""}, "x86_64"),
        (INPUTS, "aarch64"),
    ],
    ids=["content", "a new file", "bytes moved between files", "architecture"],
)
def test_a_change_of_any_input_changes_the_key(inputs: dict[str, bytes], architecture: str) -> None:
    assert binaries.build_key(inputs, architecture) != binaries.build_key(INPUTS, "x86_64")


def test_the_sources_of_every_program_are_part_of_the_key() -> None:
    expected = {"go.mod", "go.sum", "kubernetes/main.go", "coredns/main.go", "pause/main.go"}
    assert set(binaries.build_inputs()) == expected


def test_a_version_is_read_from_a_block_or_a_single_require() -> None:
    go_mod = "require a.b/c v1.0.0\nrequire (\n\td.e/f v2.1.0 // indirect\n)\n"
    assert binaries.pinned_version(go_mod, "a.b/c") == "v1.0.0"
    assert binaries.pinned_version(go_mod, "d.e/f") == "v2.1.0"


def test_a_version_that_is_missing_is_an_error() -> None:
    with pytest.raises(ClusterError, match=r"requires no version of a\.b/c"):
        binaries.pinned_version("require a.b/cd v1.0.0\n", "a.b/c")


def test_the_real_module_pins_all_that_status_shows() -> None:
    assert set(binaries.versions()) == {"kubernetes", "etcd", "coredns", "helm"}


def test_kubernetes_is_stamped_with_its_version() -> None:
    flags = binaries.linker_flags("v1.36.3", "v3.21.4")
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"-X {package}.gitVersion=v1.36.3" in flags
        assert f"-X {package}.gitMinor=36" in flags
    assert "-X helm.sh/helm/v3/internal/version.version=v3.21.4" in flags


def test_an_incomplete_folder_of_binaries_does_not_count_as_built(tmp_path: Path) -> None:
    layout = Layout(state=tmp_path / "state", cache=tmp_path / "cache")
    folder = binaries.folder(layout)
    folder.mkdir(parents=True)
    for name in binaries.PROGRAMS:
        assert not binaries.are_built(layout)
        (folder / name).touch()
    assert binaries.are_built(layout)


def test_without_go_and_without_cache_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "GO_FOLDER", str(tmp_path))
    with pytest.raises(ClusterError, match="install the Go release"):
        binaries.ensure(Layout(state=tmp_path, cache=tmp_path))
