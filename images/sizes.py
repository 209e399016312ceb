"""Measures images: what a registry transfers and what a node unpacks."""

from __future__ import annotations

import gzip
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path

GZIP_LEVEL = 6  # the default of docker and buildah for a push
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Size:
    """The sizes of one image, in bytes."""

    compressed: int
    unpacked: int


class Scale:
    """Measures images; a layer that several images share is compressed once."""

    def __init__(self) -> None:
        self._layers: dict[str, Size] = {}

    def measure(self, archive: Path) -> Size:
        """The sizes of the layers of a docker-archive, each compressed alone as in a registry."""
        with tarfile.open(archive) as tar:
            manifest = tar.extractfile("manifest.json")
            assert manifest is not None
            layers: list[str] = json.load(manifest)[0]["Layers"]
            for name in layers:
                if name not in self._layers:
                    self._layers[name] = _layer_size(tar, name)
        sizes = [self._layers[name] for name in layers]
        return Size(sum(size.compressed for size in sizes), sum(size.unpacked for size in sizes))


def _layer_size(archive: tarfile.TarFile, name: str) -> Size:
    layer = archive.extractfile(name)
    assert layer is not None
    counter = _ByteCounter()
    unpacked = 0
    with gzip.GzipFile(fileobj=counter, mode="wb", compresslevel=GZIP_LEVEL) as packer:
        while chunk := layer.read(CHUNK_BYTES):
            unpacked += len(chunk)
            packer.write(chunk)
    return Size(counter.count, unpacked)


class _ByteCounter:
    """A file that keeps the number of bytes written to it, and nothing else."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, data: bytes) -> int:
        self.count += len(data)
        return len(data)

    def flush(self) -> None:
        pass


def table(sizes: dict[str, Size]) -> str:
    lines = [f"{'image':<12} {'compressed':>12} {'unpacked':>12}"]
    lines += [
        f"{name:<12} {_megabytes(size.compressed):>12} {_megabytes(size.unpacked):>12}"
        for name, size in sizes.items()
    ]
    return "\n".join(lines)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
