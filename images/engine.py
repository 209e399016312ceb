"""Drives the program that builds images: docker if its daemon answers, otherwise buildah."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from cluster import base_image
from cluster.base_image import buildah
from cluster.settings import BASE_IMAGE, layout_from_environment
from cluster.shell import ClusterError, run, succeeds

PUBLIC_BASE = "python:3.11-slim-bookworm"
BUILD_TIMEOUT_S = 900.0  # a first build pulls the base image


class Engine(Protocol):
    """The interface of a program that builds images."""

    name: str
    default_base: str

    def ensure_base(self, base: str) -> str:
        """Make the base image present; returns the digest that names its content."""
        ...

    def has(self, reference: str) -> bool: ...

    def build(
        self, dockerfile: Path, context: Path, reference: str, arguments: Mapping[str, str]
    ) -> None: ...

    def save(self, reference: str, archive: Path) -> None:
        """Write a docker-archive whose image has this reference as its name."""
        ...

    def remove(self, reference: str) -> None: ...

    def tags(self, repository: str) -> list[str]:
        """The tags of the images `repository:tag` that the engine has, newest first."""
        ...


class Buildah:
    """Builds without a daemon; by default the base image is made of Debian packages."""

    name = "buildah"
    default_base = BASE_IMAGE

    def ensure_base(self, base: str) -> str:
        if base == BASE_IMAGE:
            base_image.ensure(layout_from_environment())
        elif base_image.buildah_digest(base) is None:
            buildah("pull", "-q", base)
        return buildah("inspect", "--type", "image", "--format", "{{.FromImageID}}", base).strip()

    def has(self, reference: str) -> bool:
        return base_image.buildah_digest(reference) is not None

    def build(
        self, dockerfile: Path, context: Path, reference: str, arguments: Mapping[str, str]
    ) -> None:
        flags = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        # With layers, unchanged content is stored once, both here and on the nodes.
        buildah("build", "-q", "--layers", "--pull-never", *flags,
                "-f", dockerfile, "-t", reference, context)  # fmt: skip

    def save(self, reference: str, archive: Path) -> None:
        buildah("push", "-q", reference, f"docker-archive:{archive}:{reference}")

    def remove(self, reference: str) -> None:
        buildah("rmi", reference)

    def tags(self, repository: str) -> list[str]:
        listed = json.loads(buildah("images", "--json"))
        listed.sort(key=lambda image: str(image["createdatraw"]), reverse=True)
        names = [name for image in listed for name in image["names"] or []]
        return tags_of(repository, [name.removeprefix("localhost/") for name in names])


class Docker:
    """Builds with the docker daemon; by default the base image is a public one."""

    name = "docker"
    default_base = PUBLIC_BASE

    def ensure_base(self, base: str) -> str:
        if not self.has(base):
            run("docker", "pull", "--quiet", base, timeout_s=BUILD_TIMEOUT_S)
        return run("docker", "image", "inspect", "--format", "{{.Id}}", base).strip()

    def has(self, reference: str) -> bool:
        return succeeds("docker", "image", "inspect", reference)

    def build(
        self, dockerfile: Path, context: Path, reference: str, arguments: Mapping[str, str]
    ) -> None:
        flags = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        run("docker", "build", "--quiet", *flags, "-f", dockerfile, "-t", reference, context,
            timeout_s=BUILD_TIMEOUT_S)  # fmt: skip

    def save(self, reference: str, archive: Path) -> None:
        run("docker", "save", "-o", archive, reference)

    def remove(self, reference: str) -> None:
        run("docker", "rmi", reference)

    def tags(self, repository: str) -> list[str]:
        # docker lists the newest first.
        listing = run("docker", "images", "--format", "{{.Repository}}:{{.Tag}}", repository)
        return tags_of(repository, listing.splitlines())


def tags_of(repository: str, names: list[str]) -> list[str]:
    """The tags of those names that are `repository:tag`."""
    return [name.rpartition(":")[2] for name in names if name.rpartition(":")[0] == repository]


def engine_from_environment() -> Engine:
    """The engine that IMAGE_ENGINE names; by default the one that answers."""
    wanted = os.environ.get("IMAGE_ENGINE", "")
    if wanted not in {"", "docker", "buildah"}:
        raise ClusterError(f"IMAGE_ENGINE is {wanted!r}: set it to docker or buildah, or unset it")
    if wanted == "docker" or (not wanted and succeeds("docker", "info")):
        return Docker()
    if shutil.which("buildah") is None and shutil.which("apt-get") is None:
        raise ClusterError(
            "images are built by docker, whose daemon does not answer, or by buildah, which is not "
            "installed: start docker, or install buildah"
        )
    return Buildah()
