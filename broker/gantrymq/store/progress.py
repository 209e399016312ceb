"""Defines tasks that report their progress: recovery, and the checks and repairs of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar, final

from gantrymq.base.tasks import Task

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one stage, in bytes of the log, in queues or in files."""

    stage: str
    done: int
    total: int


ProgressTask: TypeAlias = Task[Progress, None, T]
"""A task whose caller may show the progress, run other work, or stop before the next step."""
