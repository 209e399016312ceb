"""Saves the result of a command as a JSON file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gantrymq.cli.frame.failures import CommandError
from gantrymq.client.core.flow.flow_steps import SaveFile
from gantrymq.wire import javajson

if TYPE_CHECKING:
    from gantrymq.cli.frame.option import Options
    from gantrymq.wire.jsonvalue import JsonObject


async def save(options: Options, default_folder: str, name: str, content: JsonObject) -> str:
    """Write the file into the folder of the option filePath, and return its path.

    Raises CommandError if it cannot be written.
    """
    path = f"{options.maybe('filePath') or default_folder}/{name}"
    try:
        await SaveFile(path, javajson.dumps_pretty(content))
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error}; -f names another folder") from error
    return path
