"""Tests which files a folder of full-length files may have, and the errors for others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import Entry
from gantrymq.base.errors import LocalError
from gantrymq.store.layout import (
    POSITION_MAX,
    Row,
    StoreRefusedError,
    check_row,
    file_name,
    parse_name,
)

KEY = "mappedFileSizeCommitLog"


def entries(*files: tuple[int | str, int]) -> list[Entry]:
    return [
        Entry(name if isinstance(name, str) else file_name(name), is_folder=False, size=size,
              modified_ms=0)
        for name, size in files
    ]  # fmt: skip


def row(*files: tuple[int | str, int]) -> Row:
    return check_row("commitlog", entries(*files), 100, KEY)


@given(st.integers(0, POSITION_MAX))
def test_file_names_have_20_digits_and_are_parsed_back(position: int) -> None:
    name = file_name(position)
    assert len(name) == 20
    assert parse_name(name) == position


@pytest.mark.parametrize("position", [-1, POSITION_MAX + 1])
def test_no_file_begins_outside_the_valid_positions(position: int) -> None:
    with pytest.raises(LocalError):
        file_name(position)


@pytest.mark.parametrize(
    "name",
    ["", "0", "0" * 19, "0" * 21, "0" * 19 + "x", "+" + "0" * 19, " " + "0" * 19, "9" * 20,
     "\u0660" * 20, "0" * 20 + "\n"],
)  # fmt: skip
def test_other_names_are_no_positions(name: str) -> None:
    assert parse_name(name) is None


def test_empty_folder_has_no_files() -> None:
    assert row() == Row(0, 0)


def test_consecutive_files_are_accepted_in_any_order() -> None:
    assert row((400, 100), (300, 100)) == Row(300, 500)


def test_empty_last_file_is_reported() -> None:
    assert row((300, 100), (400, 0)) == Row(300, 400, "commitlog/00000000000000000400")
    assert row((300, 0)) == Row(0, 0, "commitlog/00000000000000000300")


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ([(0, 200), (200, 200)], "200 bytes, but mappedFileSizeCommitLog is 100; set .*Log=200"),
        ([(0, 100), (100, 60)], "00100 has 60 bytes.*restore the file, or .* store repair"),
        ([(0, 0), (100, 100)], "00000 has 0 bytes"),
        ([(0, 0), (100, 0)], "00000 has 0 bytes.*restore the file"),
        ([(50, 100)], "no multiple of mappedFileSizeCommitLog=100"),
        ([(0, 100), (300, 100)], "00100 is missing: 200 bytes between 0+ and 0+300; .*repair"),
        ([(0, 100), ("notes.txt", 1)], "a file 'notes.txt' that is not the store's: .*move it out"),
    ],
)  # fmt: skip
def test_unusable_folder_is_refused_with_a_remedy(
    files: list[tuple[int | str, int]], text: str
) -> None:
    with pytest.raises(StoreRefusedError, match=text):
        row(*files)


def test_subfolder_is_refused() -> None:
    folder = Entry(file_name(0), is_folder=True, size=0, modified_ms=0)
    with pytest.raises(StoreRefusedError, match="holds a folder"):
        check_row("commitlog", [folder], 100, KEY)


def test_last_file_may_be_short_only_if_the_size_is_known() -> None:
    files = entries((0, 100), (100, 60))
    row = check_row("commitlog", files, 100, KEY, is_size_known=True)
    assert row == Row(0, 200, short="commitlog/00000000000000000100")
    with pytest.raises(StoreRefusedError, match="00000 has 60 bytes"):
        check_row("commitlog", entries((0, 60), (100, 100)), 100, KEY, is_size_known=True)
    with pytest.raises(StoreRefusedError, match="00100 has 101 bytes"):
        check_row("commitlog", entries((0, 100), (100, 101)), 100, KEY, is_size_known=True)
