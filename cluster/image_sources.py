"""Finds the archive of an image that the user names: a file, or an image in buildah or docker."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cluster import base_image
from cluster.archives import Image
from cluster.local import node_images
from cluster.settings import Layout
from cluster.shell import ClusterError, run, succeeds


@contextlib.contextmanager
def archive_of(source: str, layout: Layout) -> Iterator[Path | None]:
    """The archive of an image, while the context lasts; None if the image is loaded already."""
    if Path(source).is_file():
        yield Path(source)
        return
    exporter = exporter_of(source)
    if exporter == "buildah" and is_loaded(source, layout):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="gantry-image-") as scratch:
        archive = Path(scratch) / "image.tar"
        if exporter == "buildah":
            base_image.buildah("push", "-q", source, f"docker-archive:{archive}:{source}")
        else:
            run("docker", "save", "--output", archive, source)
        yield archive


def exporter_of(source: str) -> str:
    if shutil.which("buildah") and base_image.buildah_digest(source) is not None:
        return "buildah"
    if shutil.which("docker") and succeeds("docker", "image", "inspect", source):
        return "docker"
    raise ClusterError(
        f"{source} is neither a file nor an image that buildah or docker knows: build it first, "
        "with STORAGE_DRIVER=overlay if by buildah"
    )


def is_loaded(name: str, layout: Layout) -> bool:
    """Whether the catalogue has exactly this image, so that it need not be exported."""
    digest = base_image.buildah_digest(name)
    return digest is not None and not node_images.is_new(
        node_images.read_catalogue(layout), Image(name, digest)
    )
