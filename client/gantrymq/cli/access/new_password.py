"""New passwords: of the command line, a file, standard input or the environment; never shown.

A password on the command line can be read by every user of the machine, so it is the last choice.
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

# Servers take 255 characters, each of at most four bytes, and a line end.
_BYTES_MAX: Final = 4 * 255 + 2

_FILE: Final = f"file with it in one line; - is standard input (without both: {VARIABLE})"
_HERE: Final = "other users of this machine can read it here"
OPTIONS: Final = (
    Option("p", "password", f"the password; {_HERE}"),
    Option("", "passwordFile", _FILE),
)
SECRET_KEY_OPTIONS: Final = (
    Option("s", "secretKey", f"its secret key; {_HERE}"),
    Option("", "secretKeyFile", _FILE),
)


async def given(options: Options, name: str = "password") -> str | None:
    """The password, or secret key; None where neither command line nor environment has one."""
    text, path = options.maybe(name), options.maybe(f"{name}File")
    if text is not None and path is not None:
        raise UsageError(f"--{name} and --{name}File exclude each other")
    if path is not None:
        return await _read(path)
    return os.environ.get(VARIABLE) if text is None else text


async def needed(options: Options) -> str:
    """UsageError where there is none."""
    password = await given(options)
    if password is None:
        raise UsageError(
            "the password is missing: name a file by --passwordFile, have --passwordFile - read"
            f" standard input, or set {VARIABLE}"
        )
    return password


async def _read(path: str) -> str:
    where = "standard input" if path == _STANDARD_INPUT else path
    content = await (_typed() if path == _STANDARD_INPUT else LoadFile(path))
    if content is None:
        raise CommandError(f"there is no file {path} with a password; write it there in one line")
    if len(content) > _BYTES_MAX:
        raise CommandError(f"{where} has more than {_BYTES_MAX} bytes; a password has 255 at most")
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        raise CommandError(f"{where} is not UTF-8; write the password as UTF-8") from None
    if len(lines) != 1:
        raise CommandError(f"{where} has {len(lines)} lines; a password is one line")
    return lines[0]


async def _typed() -> bytes:
    content: bytes = await Call(_prompted if sys.stdin.isatty() else _piped)
    return content


def _piped() -> bytes:
    return sys.stdin.buffer.read(_BYTES_MAX + 1)


def _prompted() -> bytes:
    """Typed without an echo. Ctrl-C ends the prompt at once, not after the next line."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return getpass("new password: ").encode()
    finally:
        signal.signal(signal.SIGINT, before)
