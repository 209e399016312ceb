"""Tests the file with the token that clients need to read metrics."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.bearer_token import BearerTokenFile, token_file

OLD, NEW = "a" * 32, "b" * 32


def test_only_a_request_with_the_token_may_read(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{OLD}\n")
    file = BearerTokenFile(str(path))
    assert file.allows(f"Bearer {OLD}")
    assert file.allows(f"bearer  {OLD}")
    for header in (None, "", "Bearer", "Bearer ", OLD, f"Basic {OLD}", f"Bearer {NEW}", "Bearer é"):
        assert not file.allows(header), header


def test_both_tokens_are_valid_during_a_change(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(OLD)
    complaints: list[str] = []
    file = BearerTokenFile(str(path), complaints.append)
    path.write_text(f"{OLD}\n{NEW}\n")
    assert file.allows(f"Bearer {OLD}")
    assert file.allows(f"Bearer {NEW}")
    path.write_text("short")
    os.utime(path, ns=(1, 1))
    assert file.allows(f"Bearer {NEW}")
    assert "a token in it has 5 bytes, and needs 16 to 4096" in complaints[0]


@pytest.mark.parametrize("content", ["", "\n", "short", f"{OLD}\n{NEW}\n{OLD}\n", "x" * 5000])
def test_a_file_that_is_no_token_stops_the_start(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match="metricsTokenFile="):
        BearerTokenFile(str(path))


def test_a_file_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        BearerTokenFile(str(tmp_path / "none"))
    assert token_file("") is None
