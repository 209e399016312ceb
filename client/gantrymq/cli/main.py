"""Runs `gantry COMMAND`: finds the command, parses its command line, and shows its page.

frame/failures.py lists the exit codes. Modules that connect to servers are imported only after the
command line has been parsed, so that help and usage errors are quick.
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
    """Run one command, and return its exit code."""
    # A connection would get the number of a closed standard output, and then the command's output.
    if _is_closed(_STDOUT):
        sys.stderr.write("gantry: standard output is closed; redirect it to /dev/null instead\n")
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
    except BrokenPipeError:  # the reader of the output has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (GantryError, OSError) as error:
        from gantrymq.cli.frame.screen import failure_text  # noqa: PLC0415 - needed only here

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
    """Show the commands that begin with the word, because the second word is missing or wrong."""
    if words and words[0] not in {"-h", "--help"}:
        verbs = ", ".join(catalog.verbs()[noun])
        sys.stderr.write(f"gantry {noun}: {words[0]} is not one of {verbs} (gantry {noun} -h)\n")
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
    from gantrymq.cli.frame.arguments import parse  # noqa: PLC0415 - importing argparse is slow

    command = catalog.load(entry)
    line = parse(command, entry.about, words)
    if isinstance(line, int):
        return line
    from gantrymq.cli.session import perform  # noqa: PLC0415 - it imports the client

    return perform(command, line)
