"""Reads a new password from a file, standard input, the environment or the command line.

No command shows the password. Every user of the machine can read a command line, so the help texts
recommend the other ways.
"""

from __future__ import annotations

import os
import signal
import sys
from getpass import getpass
from typing import Final

from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options
from gantrymq.client.core.flow.flow_steps import Call, LoadFile

VARIABLE: Final = "GANTRY_NEW_PASSWORD"
_STANDARD_INPUT: Final = "-"

# Servers accept 255 characters of at most four bytes each. A line end may follow.
_BYTES_MAX: Final = 4 * 255 + 2

_FILE: Final = f"a file that holds it in one line; - reads standard input (default: {VARIABLE})"
_HERE: Final = "other users of this machine can read it on the command line"
OPTIONS: Final = (
    Option("p", "password", f"the password; {_HERE}"),
    Option("", "passwordFile", _FILE),
)
SECRET_KEY_OPTIONS: Final = (
    Option("s", "secretKey", f"the secret key of the account; {_HERE}"),
    Option("", "secretKeyFile", _FILE),
)


async def given(options: Options, name: str = "password") -> str | None:
    """Return the password or secret key; None if neither options nor environment have one."""
    text, path = options.maybe(name), options.maybe(f"{name}File")
    if text is not None and path is not None:
        raise UsageError(f"--{name} and --{name}File exclude each other; give one of them")
    if path is not None:
        return await _read(path)
    return os.environ.get(VARIABLE) if text is None else text


async def needed(options: Options) -> str:
    """Return the password. Raises UsageError if there is none."""
    password = await given(options)
    if password is None:
        raise UsageError(
            "the password is missing: give --passwordFile FILE, or --passwordFile - to read"
            f" standard input, or set {VARIABLE}"
        )
    return password


async def _read(path: str) -> str:
    where = "standard input" if path == _STANDARD_INPUT else path
    content = await (_standard_input() if path == _STANDARD_INPUT else LoadFile(path))
    if content is None:
        raise CommandError(
            f"the password file {path} does not exist; create it with the password in one line"
        )
    if len(content) > _BYTES_MAX:
        raise CommandError(
            f"{where} has more than {_BYTES_MAX} bytes; a password has at most 255 characters"
        )
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        raise CommandError(f"{where} is not UTF-8; write the password as UTF-8") from None
    if len(lines) != 1:
        raise CommandError(f"{where} has {len(lines)} lines; a password is one line")
    return lines[0]


async def _standard_input() -> bytes:
    content: bytes = await Call(_prompted if sys.stdin.isatty() else _piped)
    return content


def _piped() -> bytes:
    return sys.stdin.buffer.read(_BYTES_MAX + 1)


def _prompted() -> bytes:
    """Prompt without echo. Ctrl-C ends the prompt at once, not after the next line."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return getpass("new password: ").encode()
    finally:
        signal.signal(signal.SIGINT, before)
