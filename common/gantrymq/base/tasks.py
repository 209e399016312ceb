"""Defines tasks: generators that do long work in steps, so that no step blocks the event loop.

A task runs until it needs something that it cannot have at once, or until it has used its share of
a turn. Then it yields a step. The task's runner carries out the step, and resumes the task with the
answer or throws an error into it. A task returns its result, and runs another task inside itself by
`yield from`. It does no I/O and reads no clock, so production and tests can run the same task.

    task           defined in          what it yields                      its runner
    Task           broker.core.engine  a step: put, read, ask, save, wait  TaskRunner
    ReadTask       store.read          the bytes that it needs, or a pause AsyncReader
    ProgressTask   store.progress      how far it is                       the caller of recovery,
                                                                           and the store's tools
    SlicedTask     here                nothing: each `yield` is a pause    runtime.net.backlog

The client's flows (`gantrymq.client.core.flow.flow_steps`) also yield steps, but they are
coroutines; that module says why.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

StepT = TypeVar("StepT")
AnswerT = TypeVar("AnswerT")
T = TypeVar("T")

Task: TypeAlias = Generator[StepT, AnswerT, T]

SlicedTask: TypeAlias = Generator[None, None, T]
"""A task without steps: it pauses after every few milliseconds of work."""


def run_to_end(task: SlicedTask[T]) -> T:
    """Run a task without pauses; returns its result."""
    while True:
        try:
            next(task)
        except StopIteration as stop:
            result: T = stop.value
            return result
