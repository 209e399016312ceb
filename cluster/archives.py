"""Reads and writes image archives: the tar files that container engines save and load.

A docker-archive holds `manifest.json`: a list of images, each with the name of its configuration
(`Config`, named by its digest), its references (`RepoTags`) and its layers. An OCI archive holds
`index.json`: descriptors with digests, the reference in an annotation.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.shell import ClusterError

REFERENCE_ANNOTATIONS = ("io.containerd.image.name", "org.opencontainers.image.ref.name")


@dataclass(frozen=True)
class Image:
    """One image of an archive: its full reference and the digest that names its content."""

    reference: str
    digest: str


def images_of(archive: Path) -> list[Image]:
    """The images of a docker-archive or OCI archive."""
    try:
        with tarfile.open(archive) as tar:
            for name, parse in (("manifest.json", docker_images), ("index.json", oci_images)):
                try:
                    member = tar.extractfile(name)
                except KeyError:
                    continue
                if member is not None:
                    return parse(json.load(member))
    except (OSError, tarfile.TarError, ValueError) as error:
        raise ClusterError(f"cannot read the image archive {archive}: {error}") from error
    raise ClusterError(f"{archive} is no image archive: it has no manifest.json and no index.json")


def docker_images(manifest: Any) -> list[Image]:
    found = []
    for image in manifest:
        digest = str(image["Config"]).removesuffix(".json").removeprefix("blobs/sha256/")
        found += [Image(reference, digest) for reference in image.get("RepoTags") or []]
    return found


def oci_images(index: Any) -> list[Image]:
    found = []
    for descriptor in index["manifests"]:
        annotations = descriptor.get("annotations") or {}
        names = [annotations[key] for key in REFERENCE_ANNOTATIONS if key in annotations]
        if names:
            found.append(Image(names[0], str(descriptor["digest"]).removeprefix("sha256:")))
    return found


def image_architecture(machine: str) -> str:
    """The architecture's name in images, given the one that the kernel reports."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def write_program_image(target: Path, reference: str, program: Path) -> None:
    """Write a docker-archive of an image that holds one static program and runs it."""
    layer = _tar({program.name: program.read_bytes()}, mode=0o755)
    config = {
        "architecture": image_architecture(platform.machine()),
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}"]},
    }
    encoded = json.dumps(config, sort_keys=True).encode()
    name = f"{_digest(encoded)}.json"
    manifest = [{"Config": name, "RepoTags": [reference], "Layers": ["layer.tar"]}]
    files = {name: encoded, "layer.tar": layer, "manifest.json": json.dumps(manifest).encode()}
    unfinished = target.with_suffix(".unfinished")
    unfinished.write_bytes(_tar(files, mode=0o644))
    unfinished.rename(target)


def _tar(files: Mapping[str, bytes], mode: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)  # without owner and time: equal inputs give equal bytes
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
