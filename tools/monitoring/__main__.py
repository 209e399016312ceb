"""Writes the chart's dashboards and alert rules and the runbooks; `--check` only compares them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tools.monitoring import grafana, rules, runbooks
from tools.monitoring.alerts import GROUPS
from tools.monitoring.dashboards import DASHBOARDS

ROOT: Final = Path(__file__).resolve().parent.parent.parent
CHART: Final = "charts/gantry"


def made_files() -> dict[str, str]:
    """The text of every generated file, by its path in the repository."""
    files = {f"{CHART}/dashboards/{each.name}.json": grafana.document(each) for each in DASHBOARDS}
    files[f"{CHART}/alerts/gantry.yaml"] = rules.rule_file(GROUPS)
    files |= {f"{rules.RUNBOOKS}/{group.name}.md": runbooks.page(group) for group in GROUPS}
    files[f"{rules.RUNBOOKS}/README.md"] = runbooks.index(GROUPS)
    return files


def outdated() -> list[str]:
    """Paths of files that differ from what would be generated, or that should not exist."""
    made = made_files()
    folders = {str(Path(path).parent) for path in made}
    there = {str(path.relative_to(ROOT)) for each in folders for path in (ROOT / each).glob("*.*")}
    changed = [path for path, text in made.items() if path not in there or _text(path) != text]
    return sorted([*changed, *(there - made.keys())])


def _text(path: str) -> str:
    return (ROOT / path).read_text()


def main(arguments: list[str]) -> int:
    paths = outdated()
    if "--check" in arguments:
        for path in paths:
            print(f"{path} is outdated; run: python -m tools.monitoring")
        return 1 if paths else 0
    made = made_files()
    for path in paths:
        if path in made:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(made[path])
            print(f"wrote {path}")
        else:
            (ROOT / path).unlink()
            print(f"removed {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
