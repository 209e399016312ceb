"""Keeps the catalogue of images that every node must have, and finds those that a node lacks.

`cluster load` adds images to the catalogue and to the nodes that are on; a node that is off gets
them when it is powered on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cluster.archives import Image, images_of
from cluster.settings import Layout


@dataclass(frozen=True)
class Entry:
    """The archive and digest of a reference's image."""

    digest: str
    archive: str


def missing_archives(catalogue: Mapping[str, Entry], loaded: Mapping[str, str]) -> list[Path]:
    """The archives that a node must import; `loaded` maps its references to their digests."""
    archives = [
        entry.archive
        for reference, entry in catalogue.items()
        if loaded.get(reference) != entry.digest
    ]
    return [Path(archive) for archive in dict.fromkeys(archives)]


def read_catalogue(layout: Layout) -> dict[str, Entry]:
    entries = _read(_catalogue_file(layout))
    return {reference: Entry(**entry) for reference, entry in entries.items()}


def read_digests(file: Path) -> dict[str, str]:
    return _read(file)


def add_archive(layout: Layout, archive: Path) -> list[Image]:
    """Add the images of an archive to the catalogue, and keep a copy of the archive for later
    nodes."""
    catalogue = read_catalogue(layout)
    images = images_of(archive)
    new = [image for image in images if is_new(catalogue, image)]
    if new:
        kept = layout.images / archive_name(images)
        if archive.resolve() != kept.resolve():
            kept.unlink(missing_ok=True)
            _link_or_copy(archive, kept)
        for image in images:
            catalogue[image.reference] = Entry(image.digest, str(kept))
        _write_catalogue(layout, catalogue)
    return new


def archive_name(images: Sequence[Image]) -> str:
    content = json.dumps([asdict(image) for image in images])
    return hashlib.sha256(content.encode()).hexdigest()[:16] + ".tar"


def discard_archives(layout: Layout, nodes: Sequence[Mapping[str, str]]) -> None:
    """Remove the archives that no node needs any more; `nodes` has the images of each node.

    Tags that name a build never repeat, so their archives would fill the disk in a day.
    """
    catalogue = read_catalogue(layout)
    needed = {path for loaded in nodes for path in missing_archives(catalogue, loaded)}
    for archive in layout.images.glob("*.tar"):
        if archive not in needed:
            archive.unlink()


def is_new(catalogue: Mapping[str, Entry], image: Image) -> bool:
    entry = catalogue.get(image.reference)
    return entry is None or entry.digest != image.digest


def _write_catalogue(layout: Layout, catalogue: Mapping[str, Entry]) -> None:
    """Write the catalogue, without archives whose images have all been replaced."""
    file = _catalogue_file(layout)
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(
        json.dumps({name: asdict(entry) for name, entry in catalogue.items()}, indent=1)
    )
    unfinished.replace(file)
    needed = {entry.archive for entry in catalogue.values()}
    for archive in layout.images.glob("*.tar"):
        if str(archive) not in needed:
            archive.unlink()


def _catalogue_file(layout: Layout) -> Path:
    return layout.images / "catalogue.json"


def _read(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)
