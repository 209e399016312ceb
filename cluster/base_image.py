"""Makes the base image of the component images without a registry: Debian with Python 3.11.

debootstrap fetches the packages from the machine's Debian mirror, and buildah makes the image of
them. The cache keeps the image as a docker-archive, from which a fresh machine restores it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from cluster import cache, machine
from cluster.archives import images_of
from cluster.settings import BASE_IMAGE, Layout
from cluster.shell import ClusterError, run

SUITE = "bookworm"
PACKAGES = ("ca-certificates", "python3", "tini")
TOOLS = ("buildah", "debootstrap")
RECIPE = f"""FROM scratch
ADD base.tar /
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["/usr/bin/python3"]
LABEL org.opencontainers.image.title={BASE_IMAGE}
"""
UNNEEDED = (
    *("var/cache/apt", "var/lib/apt/lists", "var/log"),
    *("usr/share/doc", "usr/share/man", "usr/share/locale"),
)
DEBOOTSTRAP_TIMEOUT_S = 900.0

# The overlay driver stores a layer once; chroot isolation needs no container runtime of its own.
BUILDAH_ENVIRONMENT = {"STORAGE_DRIVER": "overlay", "BUILDAH_ISOLATION": "chroot"}


def buildah(*arguments: str | Path, stdin: str | None = None) -> str:
    environment = {**os.environ, **BUILDAH_ENVIRONMENT}
    return run("buildah", *arguments, stdin=stdin, environment=environment)


def buildah_digest(image: str) -> str | None:
    """The digest of an image that buildah has; None if it has no image of this name."""
    try:
        template = "{{.FromImageID}}"
        return buildah("inspect", "--type", "image", "--format", template, image).strip()
    except ClusterError:
        return None


def archive(layout: Layout) -> Path:
    """The path of the image in the cache; the name changes with the recipe."""
    recipe = " ".join([SUITE, *PACKAGES, *UNNEEDED, RECIPE])
    key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    return layout.cache / "images" / f"python-{key}.tar"


def ensure(layout: Layout) -> Path:
    """Make BASE_IMAGE known to buildah; returns its archive."""
    machine.install_packages(TOOLS)
    target = archive(layout)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="base-") as scratch:
            build(Path(scratch), target)
        cache.prune(target.parent, "python-*.tar")
    elif buildah_digest(BASE_IMAGE) != images_of(target)[0].digest:
        loaded = buildah("pull", "-q", f"docker-archive:{target}").strip()
        buildah("tag", loaded, BASE_IMAGE)
    return target


def build(scratch: Path, target: Path) -> None:
    print(f"building the base image {BASE_IMAGE}: about a minute", flush=True)
    root = scratch / "root"
    run(
        *("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, root),
        timeout_s=DEBOOTSTRAP_TIMEOUT_S,
    )
    for name in UNNEEDED:
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir(parents=True)
    run("tar", "-C", root, "-cf", scratch / "base.tar", ".")
    shutil.rmtree(root)
    buildah("build", "-q", "-t", BASE_IMAGE, "-f", "-", scratch, stdin=RECIPE)
    unfinished = scratch / "image.tar"
    buildah("push", "-q", BASE_IMAGE, f"docker-archive:{unfinished}:{BASE_IMAGE}")
    unfinished.rename(target)
