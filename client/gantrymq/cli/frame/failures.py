"""How a command ends otherwise than well, and what the process tells of it.

0    done
1    refused, failed, or only done in part; doctor: something is wrong
2    the command line makes no sense
130  interrupted by Ctrl-C, 143 by SIGTERM
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
    """Options that are missing, or do not go together."""


class CommandError(GantryError):
    """What a command was asked for cannot be had, though every server answered."""
