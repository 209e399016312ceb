"""Builds all images from one snapshot of the checkout, unless their tag exists already."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.settings import layout_from_environment
from cluster.shell import ClusterError, run
from images import payload, sources, spark_payload
from images.components import CHECKOUT, COMPONENTS, DEFAULT_PREFIX, Component, Release
from images.engine import Engine

KEPT_BUILDS = 3  # of each component: enough to go back, few enough for a small disk


def cache_folder() -> Path:
    folder = layout_from_environment().cache.parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build(engine: Engine, components: Sequence[Component]) -> tuple[Release, bool]:
    """Build the images of this checkout; returns them, and whether any image had to be built.

    BASE, IMAGE_PREFIX, IMAGE_SOURCE and TAG of the environment replace the defaults. The default
    tag names the content: nodes notice a change, and an image with that tag needs no second build.
    """
    payload.check_python()
    base = os.environ.get("BASE") or engine.default_base
    base_digest = engine.ensure_base(base)
    source = os.environ.get("IMAGE_SOURCE", "")
    with tempfile.TemporaryDirectory(prefix="build-", dir=cache_folder()) as scratch:
        snapshot, context = Path(scratch) / "checkout", Path(scratch) / "context"
        sources.take_snapshot(CHECKOUT, snapshot)
        version = sources.version(snapshot)
        content = sources.digest(snapshot, base_digest, source)
        release = Release(
            prefix=os.environ.get("IMAGE_PREFIX") or DEFAULT_PREFIX,
            tag=os.environ.get("TAG") or f"{version}-{content}",
        )
        is_named_by_content = not os.environ.get("TAG")
        if is_named_by_content and all(
            engine.has(release.reference(component.name)) for component in components
        ):
            return release, False
        payload.make_context(snapshot, context, cache_folder())
        if any(component.name == "spark" for component in components):
            spark_payload.add_to_context(snapshot, context, cache_folder())
        labels = {"VERSION": version, "REVISION": revision(CHECKOUT), "SOURCE": source}
        recipe = Recipe(snapshot, context, base, labels)
        for component in components:
            build_component(engine, release, component, recipe)
    if is_named_by_content:
        remove_old_builds(engine, release)
    payload.remove_unused(cache_folder())
    return release, True


@dataclass(frozen=True)
class Recipe:
    """The inputs that all images of one build share."""

    snapshot: Path
    context: Path
    base: str
    labels: dict[str, str]


def build_component(engine: Engine, release: Release, component: Component, recipe: Recipe) -> None:
    parent = release.reference(component.parent) if component.parent else recipe.base
    dockerfile = recipe.snapshot / component.dockerfile.relative_to(CHECKOUT)
    reference = release.reference(component.name)
    print(f"building {reference} with {engine.name}", flush=True)
    engine.build(dockerfile, recipe.context, reference, {"BASE": parent, **recipe.labels})


def revision(checkout: Path) -> str:
    """The commit of the checkout, with a mark if tracked files differ from it."""
    try:
        described = run("git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*",
                        folder=checkout)  # fmt: skip
    except ClusterError:  # sources without a repository, such as an unpacked release
        return "unknown"
    return described.strip()


def remove_old_builds(engine: Engine, release: Release) -> None:
    """Remove the images of earlier builds, children before their parents."""
    for component in reversed(COMPONENTS):
        repository = f"{release.prefix}/{component.name}"
        for tag in engine.tags(repository)[KEPT_BUILDS:]:
            engine.remove(f"{repository}:{tag}")
