"""Writes what is made from the model of the resources: definitions and documentation.

`python -m tools.resources` writes the files; with `--check` it writes nothing, names the files that
differ from the model and fails if there are any.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import yaml

from gantrymq.operator.resources.definitions import DEFINITIONS, definition
from gantrymq.operator.resources.pages import conditions_page, resources_page

ROOT: Final = Path(__file__).resolve().parent.parent
_MADE: Final = "# Made by `python -m tools.resources`; edit operator/ instead.\n"
_LINE: Final = 100
# A chart can only read files in its own folder, so it has copies.
_DEFINITION_FOLDERS: Final = ("crds", "charts/gantry/files/crds")


def made_files() -> dict[str, str]:
    """The text of every file that is made from the model, by its path in the repository."""
    definitions = {each.file_name: _yaml(definition(each)) for each in DEFINITIONS}
    # The chart has a copy: helm packages nothing from outside of the chart's folder.
    texts = {
        f"{folder}/{name}": text
        for folder in ("crds", "charts/gantry/files/crds")
        for name, text in definitions.items()
    }
    texts["docs/reference/resources.md"] = resources_page()
    texts["docs/operations/conditions.md"] = conditions_page()
    return texts


def _yaml(content: dict[str, Any]) -> str:
    return _MADE + yaml.safe_dump(content, sort_keys=False, width=_LINE, allow_unicode=True)


def outdated_files() -> list[str]:
    """The paths of files that are missing or differ from the model."""
    return [path for path, text in made_files().items() if _read(ROOT / path) != text]


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def main(arguments: list[str]) -> int:
    """Write or check the files."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m tools.resources [--check]", file=sys.stderr)
        return 2
    outdated = outdated_files()
    if arguments:
        for path in outdated:
            print(f"{path} differs from the model; run: python -m tools.resources")
        return 1 if outdated else 0
    for path in outdated:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(made_files()[path])
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
