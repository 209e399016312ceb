"""Tests that the script for diagrams comes from the cache with the expected bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.site import mermaid
from tools.site.mermaid import ScriptUnavailableError, script


def test_a_cached_script_with_other_bytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANTRY_CACHE", str(tmp_path))
    cached = tmp_path / "site" / f"mermaid-{mermaid.VERSION}.min.js"
    cached.parent.mkdir()
    cached.write_bytes(b"something else")
    with pytest.raises(ScriptUnavailableError, match=r"remove .* and build again"):
        script()


def test_without_npm_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANTRY_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ScriptUnavailableError, match="apt-get install npm"):
        script()
    assert not (tmp_path / "site").exists()
