"""Reads the file of accounts when a server starts, and again whenever the file changes.

The new rules take effect within a second of the change. If the file cannot be used, is missing or
is empty, the old rules stay in force and the log says so. So an error in the file neither locks
accounts out nor lets strangers in, and an editor that truncates the file before it writes does no
harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias, final

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Rules
from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.logs import Log

LOOK_SECONDS: Final = 1.0

_Stamp: TypeAlias = "tuple[int, int, int] | None"


@final
class AclFile:
    """Loads and watches the file. Owns the watch task: call `load`, then `watch`, then `stop`."""

    def __init__(self, path: Path, log: Log, look_seconds: float = LOOK_SECONDS) -> None:
        self._path = path
        self._log = log
        self._look_seconds = look_seconds
        self._stamp: _Stamp = None
        self._task: asyncio.Task[None] | None = None

    def load(self, *, may_be_empty: bool = True) -> Rules:
        """Read the rules and log their warnings; raises ConfigurationError if that fails."""
        self._stamp = _stamp_of(self._path)
        rules = self._read(may_be_empty=may_be_empty)
        for warning in rules.warnings:
            self._log.warning(f"{self._path}: {warning}")
        return rules

    def watch(self, changed: Callable[[Rules], None]) -> None:
        """Call `changed` with the new rules after each change of the file."""
        self._task = asyncio.get_running_loop().create_task(
            self._watch(changed), name=f"watch {self._path}"
        )

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self, changed: Callable[[Rules], None]) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            if _stamp_of(self._path) == self._stamp:
                continue
            try:
                changed(await asyncio.to_thread(self._load_anew))
            except Exception as error:  # any error: the watch must go on
                self._log.warning(
                    "the accounts cannot be read anew, the rules stay as they were",
                    cause=str(error) or type(error).__name__,
                )
            else:
                self._log.info("the file of accounts was read", path=str(self._path))

    def _load_anew(self) -> Rules:
        return self.load(may_be_empty=False)

    def _read(self, *, may_be_empty: bool) -> Rules:
        try:
            content = self._path.read_bytes()
            return plain_acl.read(content) if may_be_empty else plain_acl.read_anew(content)
        except (OSError, ConfigurationError) as error:
            cause = error.strerror if isinstance(error, OSError) else error
            raise ConfigurationError(
                f"aclFile={self._path} cannot be used: {cause}; write the accounts there as"
                " RocketMQ's plain_acl.yml has them, or set aclEnable=false to admit every client"
            ) from error


def read_credentials(path: Path) -> Credentials:
    """The credentials with which this program signs requests.

    Raises ConfigurationError if the file cannot be read or has none.
    """
    try:
        return plain_acl.read_credentials(path.read_bytes())
    except (OSError, ConfigurationError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"aclCredentialsFile={path} cannot be used: {cause}; it needs two lines, accessKey:"
            " and secretKey:, as RocketMQ's conf/tools.yml"
        ) from error


def _stamp_of(path: Path) -> _Stamp:
    """Identifies the file's content; the inode tells when a ConfigMap's link is replaced."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
