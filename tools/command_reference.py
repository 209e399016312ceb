"""Makes docs/reference/commands.md: the commands of `gantry` and their options."""

from __future__ import annotations

from typing import Final

from gantrymq.cli import catalog
from gantrymq.cli.catalog import load
from gantrymq.cli.frame.option import Option

_ABOUT: Final = """\
Options marked `!` are required, those marked `*` may be given several times. Every command has the
options of [the command line](command-line.md) as well: `-n`, `--output`, `--watch`, `--timeout`,
`--tls`."""


def commands_page(made: str) -> str:
    """The page; `made` says that it is made, and by what."""
    lines = ["# Commands", made, _ABOUT]
    for title, names in catalog.families():
        lines += ["", f"## {title}", "", "| command | does | options |", "|---|---|---|"]
        lines += map(_row, names)
    lines += ["", "## Not there", "", "| command of mqadmin | |", "|---|---|"]
    lines += [f"| `{name}` | {reason} |" for name, reason in catalog.absent().items()]
    return "\n".join(lines) + "\n"


def _row(name: str) -> str:
    entry = catalog.find(name)
    assert entry is not None, "the catalog finds its own names"
    options = "<br>".join(map(_option, load(entry).options))
    return f"| `{name}` | {_cell(entry.about)} | {options} |"


def _option(option: Option) -> str:
    if option.is_positional:
        spelling = f"`{option.name.upper()}`"
    else:
        letter = f"-{option.letter} " if option.letter else ""
        spelling = f"`{letter}--{option.name}`"
    marks = "!" * option.is_required + "*" * option.is_repeated
    return f"{spelling}{_cell(marks)} {_cell(option.about)}"


def _cell(text: str) -> str:
    """Text that neither ends a cell nor is taken for markup."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
