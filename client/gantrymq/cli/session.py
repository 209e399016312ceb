"""Runs a command against real servers, and shows what came of it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from gantrymq.base.errors import ConfigurationError, GantryError
from gantrymq.base.properties import decode_properties, parse_properties
from gantrymq.cli.frame.arguments import Asked
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


def perform(command: Command | StreamCommand, asked: Asked) -> int:
    """Until it is done, or for ever; the exit code."""
    show_what_cannot_be_encoded(sys.stdout)
    notices = Notices(sys.stderr)
    notices.begin()
    try:
        if isinstance(command, Command):
            return asyncio.run(_perform(command, asked))
        return asyncio.run(_stream(command, asked))
    finally:
        notices.end()


async def _perform(command: Command, asked: Asked) -> int:
    admin = Admin(timeout_s=asked.timeout_s, **_keywords(asked))
    bar = _bar(asked)
    if bar is not None:
        admin.flows.pace = bar
    screen = Screen(sys.stdout, sys.stderr, is_json=asked.is_json)
    async with admin:
        while True:
            page = await _page(command, asked, admin)
            if bar is not None:
                bar.clear()
            if asked.watch_s:
                screen.clear()
            screen.show(asked.name, page)
            if not asked.watch_s:
                return _exit_code(page)
            await asyncio.sleep(asked.watch_s)


async def _page(command: Command, asked: Asked, admin: Admin) -> Page:
    try:
        return await admin.run(command.run(admin.flows, asked.options))
    except UsageError:
        raise
    except GantryError as error:
        return Page(failures=[error])


async def _stream(command: StreamCommand, asked: Asked) -> int:
    stream = Stream(_keywords(asked), asked.timeout_s, asked.form)
    bar = _bar(asked)
    if bar is not None:
        stream.pace = bar
    end = Interruption()
    with end:
        try:
            page = await command.run(stream, asked.options)
        except asyncio.CancelledError:
            if end.exit_code is None:
                raise
            return end.exit_code
        finally:
            if bar is not None:
                bar.clear()
    # What was shown message by message is not JSON of one page.
    is_json = asked.is_json and bool(page.parts)
    Screen(sys.stdout, sys.stderr, is_json=is_json).show(asked.name, page)
    return _exit_code(page)


def _exit_code(page: Page) -> int:
    return DONE if page.is_well and not page.failures else FAILED


def _bar(asked: Asked) -> ProgressBar | None:
    """For those who look at a terminal, and nobody else."""
    is_seen = sys.stdout.isatty() and sys.stderr.isatty() and not asked.is_json
    return ProgressBar(sys.stderr) if is_seen else None


def _keywords(asked: Asked) -> ClientKeywords:
    keywords: ClientKeywords = {"name_servers": asked.name_servers}
    if (credentials := _credentials()) is not None:
        keywords["access_key"], keywords["secret_key"] = credentials
    if asked.tls is not None:
        keywords["tls"] = _tls(asked.tls)
    return keywords


def _tls(file: str) -> ClientTls:
    """Any certificate will do where no file says otherwise."""
    properties = parse_properties(decode_properties(Path(file).read_bytes())) if file else {}
    return ClientTls.from_properties(properties)


def _credentials() -> tuple[str, str] | None:
    """The key, and the secret."""
    key, secret = os.environ.get(_KEY), os.environ.get(_SECRET)
    if key and secret:
        return key, secret
    home = os.environ.get("ROCKETMQ_HOME")
    return None if not home else _of_tools(Path(home) / "conf" / "tools.yml")


def _of_tools(file: Path) -> tuple[str, str] | None:
    """mqadmin's own file."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        return None
    import yaml  # noqa: PLC0415 - only where there is such a file

    values = yaml.safe_load(text)
    if not isinstance(values, dict) or not {"accessKey", "secretKey"} <= values.keys():
        raise ConfigurationError(f"{file} names no accessKey and secretKey; write both, or move it")
    return str(values["accessKey"]), str(values["secretKey"])
