"""Builds the images, prints their sizes and loads them into the test cluster."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from cluster.shell import ClusterError
from images import build, delivery, sizes
from images.components import Component, Release, wanted
from images.engine import Engine, engine_from_environment

EPILOG = """\
The environment may say:
  IMAGE_ENGINE   docker or buildah; the default is docker where its daemon answers
  BASE           the image to begin from; with docker a public Python image, otherwise one that is
                 made from Debian packages
  IMAGE_PREFIX   registry and organisation of the names; the default is gantrymq
  IMAGE_SOURCE   the address of the sources, for the images' labels; the default is none
  TAG            the default is the version and a digest of the content
  SPARK          1 makes the image spark as well: Java, PySpark and the jars of Delta
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m images",
        description="Build Gantry's container images, unless they exist already.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "verb", nargs="?", default="all", choices=["all", "build", "sizes", "load"],
        help="each builds missing images, then prints names or sizes, or loads; default: all",
    )  # fmt: skip
    verb = parser.parse_args(arguments).verb
    try:
        return run(verb)
    except ClusterError as error:
        print(f"images: {error}", file=sys.stderr)
        return 1


def run(verb: str) -> int:
    engine = engine_from_environment()
    components = wanted(os.environ)
    release, is_new = build.build(engine, components)
    deployed = names_of_deployed(components)
    references = [release.reference(name) for name in deployed]
    if verb != "load":
        print("\n".join(references), flush=True)
    if verb == "sizes" or (verb == "all" and is_new):
        print(sizes.table(measured(engine, release, deployed)), flush=True)
    if verb in {"all", "load"}:
        delivery.load(references)
    return 0


def names_of_deployed(components: Iterable[Component]) -> list[str]:
    return [component.name for component in components if component.is_deployed]


def measured(engine: Engine, release: Release, deployed: list[str]) -> dict[str, sizes.Size]:
    scale = sizes.Scale()
    found = {}
    for name in deployed:
        with tempfile.TemporaryDirectory(prefix="gantry-image-") as scratch:
            archive = Path(scratch) / "image.tar"
            engine.save(release.reference(name), archive)
            found[name] = scale.measure(archive)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
