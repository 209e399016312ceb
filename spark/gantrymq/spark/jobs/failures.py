"""Defines the exit codes of jobs, and the errors that are shown in one sentence.

0    done
1    failed; the text says why
2    the arguments are invalid, which is checked before Spark starts
130  ended by Ctrl-C, 143 by SIGTERM; a stream ends after its current micro-batch
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import GantryError

DONE: Final = 0
FAILED: Final = 1
WRONG_USAGE: Final = 2
INTERRUPTED: Final = 130
TERMINATED: Final = 143


class JobError(GantryError):
    """The job cannot do what it was asked for; the text says why, and how to fix it."""


class JobEndedError(BaseException):
    """A signal ended the job before it was done.

    A BaseException, because it may be raised within calls of the JVM, whose Python side wraps every
    Exception.
    """

    def __init__(self, exit_code: int) -> None:
        super().__init__("ended by SIGTERM" if exit_code == TERMINATED else "interrupted")
        self.exit_code = exit_code
