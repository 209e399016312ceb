"""`python -m images`: builds the images, prints their sizes, loads them into the test cluster."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from cluster.shell import ClusterError
from images import build, delivery, sizes
from images.components import COMPONENTS, Release
from images.engine import Engine, engine_from_environment

DEPLOYED = [component.name for component in COMPONENTS if component.is_deployed]
EPILOG = """\
The environment may say:
  IMAGE_ENGINE   docker or buildah; the default is docker where its daemon answers
  BASE           the image to begin from; with docker a public Python image, otherwise one that is
                 made from Debian packages
  IMAGE_PREFIX   registry and organisation of the names; the default is gantrymq
  IMAGE_SOURCE   the address of the sources, for the images' labels; the default is none
  TAG            the default is the version and a digest of the content
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
        help="each builds what is missing, and prints names, sizes, or loads; all is the default",
    )  # fmt: skip
    verb = parser.parse_args(arguments).verb
    try:
        return run(verb)
    except ClusterError as error:
        print(f"images: {error}", file=sys.stderr)
        return 1


def run(verb: str) -> int:
    engine = engine_from_environment()
    release, is_new = build.build(engine)
    if verb != "load":
        print("\n".join(release.reference(name) for name in DEPLOYED), flush=True)
    if verb == "sizes" or (verb == "all" and is_new):
        print(sizes.table(measured(engine, release)), flush=True)
    if verb in {"all", "load"}:
        delivery.load([release.reference(name) for name in DEPLOYED])
    return 0


def measured(engine: Engine, release: Release) -> dict[str, sizes.Size]:
    scale = sizes.Scale()
    found = {}
    for name in DEPLOYED:
        with tempfile.TemporaryDirectory(prefix="gantry-image-") as scratch:
            archive = Path(scratch) / "image.tar"
            engine.save(release.reference(name), archive)
            found[name] = scale.measure(archive)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
