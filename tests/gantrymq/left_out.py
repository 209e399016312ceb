"""Leaves out tests when an environment variable asks for it, and says so at the end of the run.

The conftest of a folder calls `leave_out` in its pytest_collection_modifyitems. tests/conftest.py
calls `lines` and `is_all_left_out` at the end of the run.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

_LINES = pytest.StashKey[list[str]]()


def leave_out(
    config: pytest.Config, items: list[pytest.Item], unwanted: Sequence[pytest.Item], what: str
) -> None:
    """Deselect the unwanted tests. `what` is the line about them, in which {} is their number."""
    if not unwanted:
        return
    config.hook.pytest_deselected(items=unwanted)
    config.stash.setdefault(_LINES, []).append(what.format(len(unwanted)))
    items[:] = [item for item in items if item not in unwanted]


def lines(config: pytest.Config) -> Sequence[str]:
    """The lines about tests that were left out."""
    return config.stash.get(_LINES, [])


def is_all_left_out(session: pytest.Session) -> bool:
    """Whether the run had no test only because all were left out, which is no failure."""
    is_empty = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    return is_empty and bool(lines(session.config))
