"""Which modules pyproject.toml declares as compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.speedups import ROOT, SpeedupsError, hot_modules, hot_sources

PYPROJECT = """\
[tool.hatch.build]
dev-mode-dirs = ["common", "broker"]
[tool.gantry.speedups]
packages = ["gantrymq.store"]
modules = ["gantrymq.wire.frames"]
[[tool.gantry.speedups.exceptions]]
reason = "does not run for each message"
modules = ["gantrymq.store.layout", "gantrymq.store.offline"]
"""
SOURCES = (
    *("broker/gantrymq/store/__init__.py", "broker/gantrymq/store/engine.py"),
    *("broker/gantrymq/store/layout.py", "broker/gantrymq/store/read/pull.py"),
    *("broker/gantrymq/store/offline/repair.py", "broker/gantrymq/store_tools.py"),
    *("common/gantrymq/wire/frames.py", "common/gantrymq/wire/codes.py"),
)


def make_checkout(folder: Path, pyproject: str) -> Path:
    for name in SOURCES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "pyproject.toml").write_text(pyproject)
    return folder


def test_packages_are_compiled_with_all_below_them_but_for_the_exceptions(tmp_path: Path) -> None:
    assert {
        name: str(path) for name, path in hot_modules(make_checkout(tmp_path, PYPROJECT)).items()
    } == {
        "gantrymq.store.engine": "broker/gantrymq/store/engine.py",
        "gantrymq.store.read.pull": "broker/gantrymq/store/read/pull.py",
        "gantrymq.wire.frames": "common/gantrymq/wire/frames.py",
    }


@pytest.mark.parametrize(
    ("now", "then", "complaint"),
    [
        (
            "gantrymq.store.layout",
            "gantrymq.store.gone",
            "no module or package gantrymq.store.gone",
        ),
        ("gantrymq.wire.frames", "gantrymq.wire.fra", "no module or package gantrymq.wire.fra"),
        ("gantrymq.store.layout", "gantrymq.wire.codes", "gantrymq.wire.codes is an exception"),
        ("gantrymq.wire.frames", "gantrymq.store.engine", "that its package already includes"),
    ],
)
def test_name_that_has_no_effect_is_refused(
    tmp_path: Path, now: str, then: str, complaint: str
) -> None:
    checkout = make_checkout(tmp_path, PYPROJECT.replace(now, then))
    with pytest.raises(SpeedupsError, match=complaint):
        hot_modules(checkout)


def test_compiled_set_of_this_checkout_holds_the_hot_path() -> None:
    sources = {str(path) for path in hot_sources(ROOT)}
    assert "broker/gantrymq/store/append/kernel.py" in sources
    assert "common/gantrymq/wire/frames.py" in sources
    assert "broker/gantrymq/store/layout.py" not in sources
    assert not [name for name in sources if name.endswith("__init__.py")]
