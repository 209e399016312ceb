"""`gantry COMMAND`: finds the command, runs its flow, shows its page. Exit codes: failures.

Nothing that talks to servers is imported before a command line makes sense.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from gantrymq.base.errors import GantryError
from gantrymq.cli import catalog
from gantrymq.cli.frame.failures import DONE, FAILED, INTERRUPTED, WRONG_USAGE, UsageError

_STDOUT: Final = 1


def run(argv: list[str]) -> int:
    """Run one command; the exit code."""
    if _is_closed(_STDOUT):  # a connection would get its number, and what is meant for people
        sys.stderr.write("gantry: standard output is closed; >/dev/null does what is meant\n")
        return FAILED
    if not argv or argv[0] in {"-h", "--help", "help"}:
        return _help(argv[1:])
    name, rest = catalog.split(argv)
    if name == "completion":
        return _completion(rest)
    if name in catalog.verbs():
        return _no_verb(name, rest)
    entry = catalog.find(name)
    if entry is None:
        sys.stderr.write(f"The sub command {name} not exist.{catalog.similar(name)}\n")
        return WRONG_USAGE
    if entry.instead:
        sys.stderr.write(f"gantry {name}: {entry.instead}\n")
        return FAILED
    try:
        return _run(entry, rest)
    except UsageError as error:
        sys.stderr.write(f"gantry {name}: {error} (gantry {name} -h)\n")
        return WRONG_USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (GantryError, OSError) as error:
        from gantrymq.cli.frame.screen import failure_text  # noqa: PLC0415 - nothing waits for it

        sys.stderr.write(f"gantry {name}: {failure_text(error)}\n")
        return FAILED


def _is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return True
    return False


def _help(names: list[str]) -> int:
    if names:
        return run([*names[:2], "-h"])
    sys.stdout.write(catalog.overview())
    return DONE


def _no_verb(noun: str, words: list[str]) -> int:
    """A first word of commands that have two, without a second one that goes with it."""
    if words and words[0] not in {"-h", "--help"}:
        verbs = ", ".join(catalog.verbs()[noun])
        sys.stderr.write(f"gantry {noun}: {words[0]} is none of {verbs} (gantry {noun} -h)\n")
        return WRONG_USAGE
    sys.stdout.write(catalog.overview_of(noun))
    return DONE if words else WRONG_USAGE


def _completion(shells: list[str]) -> int:
    from gantrymq.cli.completion import script  # noqa: PLC0415 - it loads every command

    try:
        sys.stdout.write(script(shells[0] if shells else "nothing"))
    except UsageError as error:
        sys.stderr.write(f"gantry completion: {error}\n")
        return WRONG_USAGE
    return DONE


def _run(entry: catalog.Entry, words: list[str]) -> int:
    from gantrymq.cli.frame.arguments import parse  # noqa: PLC0415 - argparse is half of a quick start

    command = catalog.load(entry)
    asked = parse(command, entry.about, words)
    if isinstance(asked, int):
        return asked
    from gantrymq.cli.session import perform  # noqa: PLC0415 - as is all that can connect

    return perform(command, asked)
