"""Tests sizes of images: each layer is compressed alone, and shared layers once."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

from images.sizes import Scale, Size, table

ZEROS, ONES = bytes(1 << 20), b"1" * (1 << 20)


def write_archive(path: Path, layers: dict[str, bytes]) -> Path:
    manifest = json.dumps([{"Config": "c.json", "Layers": list(layers)}]).encode()
    with tarfile.open(path, "w") as archive:
        for name, content in {**layers, "manifest.json": manifest}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def test_an_image_is_as_large_as_its_layers(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "image.tar", {"a.tar": ZEROS, "b.tar": ONES})
    size = Scale().measure(archive)
    assert size.unpacked == 2 << 20
    assert size.compressed == sum(len(gzip.compress(layer, 6)) for layer in (ZEROS, ONES))


def test_a_shared_layer_counts_in_each_image(tmp_path: Path) -> None:
    scale = Scale()
    alone = scale.measure(write_archive(tmp_path / "base.tar", {"a.tar": ZEROS}))
    both = scale.measure(write_archive(tmp_path / "child.tar", {"a.tar": ZEROS, "b.tar": ONES}))
    assert both.unpacked == 2 * alone.unpacked


def test_the_table_is_in_megabytes() -> None:
    assert "broker            90.1 MB     200.0 MB" in table(
        {"broker": Size(90_100_000, 200_000_000)}
    )
