"""Tests the inspection of a row of files: gaps, foreign names, empty files and sizes."""

from __future__ import annotations

import pytest

from gantrymq.store.offline.file_row import read_row, usual_size
from gantrymq.store.offline.finding import Findings, Kind
from gantrymq.testing.memory_disk import MemoryDisk


def folder(**sizes: int) -> MemoryDisk:
    """A folder with these files; f8192=10 is the file of position 8192."""
    disk = MemoryDisk()
    disk.make_folder("log")
    for name, size in sizes.items():
        disk.create(f"log/{int(name[1:]):020d}").resize(size)
    return disk


def test_complete_files_have_no_findings() -> None:
    findings = Findings()
    row = read_row(folder(f4096=4096, f8192=4096), "log", 4096, findings)
    assert (row.first, row.past, row.gaps, row.foreign) == (4096, 12_288, (), ())
    assert not findings.kept()


def test_gap_is_reported_with_its_ends() -> None:
    findings = Findings()
    row = read_row(folder(f0=4096, f12288=4096), "log", 4096, findings)
    assert row.gaps == ((4096, 12_288),)
    assert [each.kind for each in findings.kept()] == [Kind.FILE_MISSING]


def test_foreign_files_are_left_out() -> None:
    disk = folder(f0=4096, f100=4096, f4096=0)
    disk.make_folder("log/backup")
    row = read_row(disk, "log", 4096, Findings())
    assert [file.start for file in row.files] == [0, 4096]
    assert row.foreign == ("log/00000000000000000100", "log/backup")


def test_foreign_files_must_be_moved_away() -> None:
    disk, findings = folder(f0=4096), Findings()
    disk.create("log/note.txt")
    read_row(disk, "log", 4096, findings)
    (found,) = findings.kept()
    assert found.text == "only files named by 20 digits belong here: move it away"


def test_empty_last_file_is_reported() -> None:
    findings = Findings()
    row = read_row(folder(f0=4096, f4096=0), "log", 4096, findings)
    assert row.foreign == ("log/00000000000000004096",)
    assert row.past == 4096


@pytest.mark.parametrize(
    ("sizes", "size"),
    [
        ({}, 0),
        ({"f0": 4096}, 4096),
        ({"f0": 4096, "f4096": 10}, 4096),
        ({"f0": 4096, "f4096": 5000}, 4096),
        ({"f0": 10, "f4096": 4096, "f8192": 0}, 4096),
    ],
)
def test_usual_size_fits_the_names_of_all_files(sizes: dict[str, int], size: int) -> None:
    assert usual_size(folder(**sizes).list("log")) == size
