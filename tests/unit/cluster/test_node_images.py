"""Tests the catalogue of images, and which images a node lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster.archives import write_program_image
from cluster.local import node_images
from cluster.local.node_images import Entry
from cluster.settings import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(state=tmp_path / "state", cache=tmp_path / "cache")
    found.images.mkdir(parents=True)
    return found


def image(folder: Path, reference: str, content: bytes) -> Path:
    program = folder / "program"
    program.write_bytes(content)
    archive = folder / "image.tar"
    write_program_image(archive, reference, program)
    return archive


def test_a_node_imports_what_it_lacks_and_what_has_changed() -> None:
    catalogue = {
        "a:1": Entry("1", "/a.tar"),
        "b:1": Entry("2", "/b.tar"),
        "c:1": Entry("3", "/c.tar"),
    }
    loaded = {"a:1": "1", "b:1": "old"}
    assert node_images.missing_archives(catalogue, loaded) == [Path("/b.tar"), Path("/c.tar")]


def test_an_archive_of_two_images_is_imported_once() -> None:
    catalogue = {"a:1": Entry("1", "/a.tar"), "a:2": Entry("1", "/a.tar")}
    assert node_images.missing_archives(catalogue, {}) == [Path("/a.tar")]


def test_an_image_is_new_once(layout: Layout, tmp_path: Path) -> None:
    archive = image(tmp_path, "a:1", b"one")
    assert [new.reference for new in node_images.add_archive(layout, archive)] == ["a:1"]
    assert node_images.add_archive(layout, archive) == []


def test_the_catalogue_outlives_the_archive_that_was_given(layout: Layout, tmp_path: Path) -> None:
    archive = image(tmp_path, "a:1", b"one")
    node_images.add_archive(layout, archive)
    archive.unlink()
    assert Path(node_images.read_catalogue(layout)["a:1"].archive).is_file()


def test_a_tag_that_moves_replaces_its_archive(layout: Layout, tmp_path: Path) -> None:
    node_images.add_archive(layout, image(tmp_path, "a:1", b"one"))
    first = node_images.read_catalogue(layout)["a:1"]
    node_images.add_archive(layout, image(tmp_path, "a:1", b"two"))
    second = node_images.read_catalogue(layout)["a:1"]
    assert first.digest != second.digest
    assert list(layout.images.glob("*.tar")) == [Path(second.archive)]


def test_a_tag_that_moves_back_is_new_again(layout: Layout, tmp_path: Path) -> None:
    for content in (b"one", b"two", b"one"):
        assert node_images.add_archive(layout, image(tmp_path, "a:1", content))


def test_a_node_that_never_loaded_anything_has_no_digests(tmp_path: Path) -> None:
    assert node_images.read_digests(tmp_path / "images.json") == {}
    (tmp_path / "images.json").write_text(json.dumps({"a:1": "1"}))
    assert node_images.read_digests(tmp_path / "images.json") == {"a:1": "1"}


def test_an_archive_stays_while_a_node_lacks_its_images(layout: Layout, tmp_path: Path) -> None:
    node_images.add_archive(layout, image(tmp_path, "a:1", b"one"))
    digest = node_images.read_catalogue(layout)["a:1"].digest
    on, off = {"a:1": digest}, {"a:1": "old"}
    node_images.discard_archives(layout, [on, off, on])
    assert len(list(layout.images.glob("*.tar"))) == 1
    node_images.discard_archives(layout, [on, on, on])
    assert list(layout.images.glob("*.tar")) == []
    assert node_images.add_archive(layout, image(tmp_path, "a:1", b"one")) == []
