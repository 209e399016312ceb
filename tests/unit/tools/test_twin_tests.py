"""Tests that only tests which name a compiled module are run uncompiled as well."""

from __future__ import annotations

from tools.speedups import ROOT
from tools.twin_tests import imported, twin_tests


def test_every_form_of_import_is_found() -> None:
    source = "import a.b\nfrom c.d import e\ndef f():\n    from g import h\n"
    assert set(imported(source)) == {"a.b", "c.d", "c.d.e", "g", "g.h"}


def test_tests_of_compiled_modules_are_chosen_and_others_are_not() -> None:
    chosen = {str(path.relative_to(ROOT)) for path in twin_tests()}
    assert "tests/unit/wire/test_frames.py" in chosen
    assert "tests/unit/tools/test_twin_tests.py" not in chosen
