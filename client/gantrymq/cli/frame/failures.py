"""Defines the exit codes of commands, and the errors that lead to them.

0    done
1    refused, failed, or only done in part; doctor: there are findings
2    wrong usage: the command line is invalid
130  interrupted by Ctrl-C
143  terminated by SIGTERM
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import GantryError

DONE: Final = 0
FAILED: Final = 1
WRONG_USAGE: Final = 2
INTERRUPTED: Final = 130
TERMINATED: Final = 143


class UsageError(GantryError):
    """Options are missing, invalid, or exclude each other."""


class CommandError(GantryError):
    """Every server answered, but the command cannot do what it was asked for."""
