"""Loads the files of the broker's tables at the start, and saves those that changed at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.messages import SECRET_FILES, File
from gantrymq.runtime.logs import Log
from gantrymq.runtime.storage.files import save_now


def load_files(core: Broker, path_of: Callable[[File], Path]) -> None:
    """Load all files that exist. ConfigurationError names a file that cannot be used."""
    for file, load in core.loaders.items():
        path = path_of(file)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
        try:
            load(content)
        except RemoteError as error:
            raise ConfigurationError(
                f"{path} cannot be loaded: {error}. Repair the file, or move it away to start"
                " without its content."
            ) from error


def save_changed_files(core: Broker, path_of: Callable[[File], Path], log: Log, now: float) -> None:
    """Save all changed files, when nothing else runs any more."""
    for save in core.state.files.take_due(now, all_touched=True):
        failure = save_now(path_of(save.file), save.content, is_secret=save.file in SECRET_FILES)
        if failure is not None:
            log.error("saving file failed", path=str(failure.path), cause_text=failure.cause)
