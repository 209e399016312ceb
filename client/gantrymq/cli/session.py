"""Runs a command with real connections, and shows its page."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from gantrymq.base.configuration.properties import decode_properties, parse_properties
from gantrymq.base.errors import ConfigurationError, GantryError
from gantrymq.cli.frame.arguments import CommandLine
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import DONE, FAILED, UsageError
from gantrymq.cli.frame.interruption import Interruption
from gantrymq.cli.frame.notices import Notices
from gantrymq.cli.frame.page import Page
from gantrymq.cli.frame.progress_bar import ProgressBar
from gantrymq.cli.frame.screen import Screen, show_what_cannot_be_encoded
from gantrymq.cli.frame.stream import Stream
from gantrymq.cli.frame.stream_command import StreamCommand
from gantrymq.client.aio.admin import Admin
from gantrymq.client.aio.machinery.configuration import ClientKeywords
from gantrymq.runtime.security.certificates import ClientTls

_KEY: Final = "GANTRY_ACCESS_KEY"
_SECRET: Final = "GANTRY_SECRET_KEY"  # noqa: S105 - the variable's name


def perform(command: Command | StreamCommand, line: CommandLine) -> int:
    """Run the command to its end or its interruption, and return the exit code."""
    show_what_cannot_be_encoded(sys.stdout)
    notices = Notices(sys.stderr)
    notices.begin()
    try:
        if isinstance(command, Command):
            return asyncio.run(_perform(command, line))
        return asyncio.run(_stream(command, line))
    finally:
        notices.end()


async def _perform(command: Command, line: CommandLine) -> int:
    admin = Admin(timeout_s=line.timeout_s, **_keywords(line))
    bar = _bar(line)
    if bar is not None:
        admin.flows.pace = bar
    screen = Screen(sys.stdout, sys.stderr, is_json=line.is_json)
    async with admin:
        while True:
            page = await _page(command, line, admin)
            if bar is not None:
                bar.clear()
            if line.watch_s:
                screen.clear()
            screen.show(line.name, page)
            if not line.watch_s:
                return _exit_code(page)
            await asyncio.sleep(line.watch_s)


async def _page(command: Command, line: CommandLine, admin: Admin) -> Page:
    try:
        return await admin.run(command.run(admin.flows, line.options))
    except UsageError:
        raise
    except GantryError as error:
        return Page(failures=[error])


async def _stream(command: StreamCommand, line: CommandLine) -> int:
    stream = Stream(_keywords(line), line.timeout_s, line.form)
    bar = _bar(line)
    if bar is not None:
        stream.pace = bar
    end = Interruption()
    with end:
        try:
            page = await command.run(stream, line.options)
        except asyncio.CancelledError:
            if end.exit_code is None:
                raise
            return end.exit_code
        finally:
            if bar is not None:
                bar.clear()
    # A command that printed messages as JSON lines has no parts; its page must not add to them.
    is_json = line.is_json and bool(page.parts)
    Screen(sys.stdout, sys.stderr, is_json=is_json).show(line.name, page)
    return _exit_code(page)


def _exit_code(page: Page) -> int:
    return DONE if page.is_well and not page.failures else FAILED


def _bar(line: CommandLine) -> ProgressBar | None:
    """Return a progress bar if both outputs are terminals and the output is not JSON."""
    is_seen = sys.stdout.isatty() and sys.stderr.isatty() and not line.is_json
    return ProgressBar(sys.stderr) if is_seen else None


def _keywords(line: CommandLine) -> ClientKeywords:
    keywords: ClientKeywords = {"name_servers": line.name_servers}
    if (credentials := _credentials()) is not None:
        keywords["access_key"], keywords["secret_key"] = credentials
    if line.tls is not None:
        keywords["tls"] = _tls(line.tls)
    return keywords


def _tls(file: str) -> ClientTls:
    """Return the TLS settings of a tls.properties. Without a file, any certificate is accepted."""
    properties = parse_properties(decode_properties(Path(file).read_bytes())) if file else {}
    return ClientTls.from_properties(properties)


def _credentials() -> tuple[str, str] | None:
    """Return access key and secret key; None if neither environment nor file has both."""
    key, secret = os.environ.get(_KEY), os.environ.get(_SECRET)
    if key and secret:
        return key, secret
    home = os.environ.get("ROCKETMQ_HOME")
    return None if not home else _of_tools(Path(home) / "conf" / "tools.yml")


def _of_tools(file: Path) -> tuple[str, str] | None:
    """Read the keys of mqadmin's file."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        return None
    import yaml  # noqa: PLC0415 - only where there is such a file

    values = yaml.safe_load(text)
    if not isinstance(values, dict) or not {"accessKey", "secretKey"} <= values.keys():
        raise ConfigurationError(
            f"{file} lacks accessKey or secretKey; write both into it, or remove the file"
        )
    return str(values["accessKey"]), str(values["secretKey"])
