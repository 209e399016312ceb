"""Tests reading and writing of image archives."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from cluster.archives import Image, image_architecture, images_of, write_program_image
from cluster.shell import ClusterError


def archive(path: Path, files: dict[str, Any]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            encoded = json.dumps(content).encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(encoded)
            tar.addfile(entry, io.BytesIO(encoded))
    return path


@pytest.mark.parametrize("config", ["abc.json", "blobs/sha256/abc"])
def test_a_docker_archive_names_each_reference_of_each_image(tmp_path: Path, config: str) -> None:
    manifest = [
        {"Config": config, "RepoTags": ["a:1", "a:2"], "Layers": []},
        {"Config": "def.json", "RepoTags": None, "Layers": []},
    ]
    found = images_of(archive(tmp_path / "a.tar", {"manifest.json": manifest}))
    assert found == [Image("a:1", "abc"), Image("a:2", "abc")]


def test_an_oci_archive_names_its_images_by_annotation(tmp_path: Path) -> None:
    descriptors = [
        {"digest": "sha256:1", "annotations": {"org.opencontainers.image.ref.name": "b:1"}},
        {
            "digest": "sha256:2",
            "annotations": {
                "org.opencontainers.image.ref.name": "1",
                "io.containerd.image.name": "c.d/e:1",
            },
        },
        {"digest": "sha256:3"},
    ]
    found = images_of(archive(tmp_path / "a.tar", {"index.json": {"manifests": descriptors}}))
    assert found == [Image("b:1", "1"), Image("c.d/e:1", "2")]


def test_a_tar_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"no manifest\.json"):
        images_of(archive(tmp_path / "a.tar", {"readme": ""}))


def test_a_file_that_is_no_tar_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(b"not a tar")
    with pytest.raises(ClusterError, match="cannot read the image archive"):
        images_of(tmp_path / "a.tar")


def test_a_program_becomes_an_image_with_one_layer(tmp_path: Path) -> None:
    program = tmp_path / "pause"
    program.write_bytes(b"program")
    write_program_image(tmp_path / "image.tar", "x.y/pause:1", program)
    (image,) = images_of(tmp_path / "image.tar")
    assert image.reference == "x.y/pause:1"
    with tarfile.open(tmp_path / "image.tar") as tar:
        layer = tar.extractfile("layer.tar")
        config = tar.extractfile(f"{image.digest}.json")
        assert layer is not None
        assert config is not None
        assert json.load(config)["config"] == {"Entrypoint": ["/pause"]}
        with tarfile.open(fileobj=layer) as inner:
            assert [(entry.name, entry.mode) for entry in inner] == [("pause", 0o755)]


def test_the_same_program_gives_the_same_image(tmp_path: Path) -> None:
    program = tmp_path / "pause"
    program.write_bytes(b"program")
    for name in ("1.tar", "2.tar"):
        write_program_image(tmp_path / name, "x.y/pause:1", program)
    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()


def test_architectures_have_the_names_that_images_use() -> None:
    assert [image_architecture(name) for name in ("x86_64", "aarch64", "riscv64")] == [
        "amd64",
        "arm64",
        "riscv64",
    ]
