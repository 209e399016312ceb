"""Provides an `OnceStore` in a table of an SQL database."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Protocol, Self, final

from gantrymq.client.once.store import LEASE_S, RETENTION_S, Claim


class Cursor(Protocol):
    """A cursor of DB-API 2.0. Any: rows and parameters depend on the database."""

    @property
    def rowcount(self) -> int: ...

    def execute(self, operation: str, parameters: Any, /) -> object: ...

    def fetchone(self) -> Any: ...

    def close(self) -> object: ...


class Connection(Protocol):
    """A connection of DB-API 2.0."""

    def cursor(self) -> Cursor: ...

    def close(self) -> object: ...

    def commit(self) -> object: ...

    def rollback(self) -> object: ...


# Expired rows are deleted once in so many calls.
_CLEAN_EVERY: Final = 1_000

_CREATE: Final = """CREATE TABLE IF NOT EXISTS gantry_once (
    message_key VARCHAR(255) NOT NULL PRIMARY KEY,
    is_done INTEGER NOT NULL,
    until_ms BIGINT NOT NULL,
    claimed_by VARCHAR(32)
)"""

# Upgrades a table that was created before claims had owners.
_ADD_OWNERS: Final = "ALTER TABLE gantry_once ADD claimed_by VARCHAR(32)"


_SELECT: Final = "SELECT is_done, claimed_by FROM gantry_once WHERE message_key = ?"

_RENEW_ROW: Final = (
    "UPDATE gantry_once SET until_ms = ? WHERE message_key = ? AND claimed_by = ? AND is_done = 0"
)

_RELEASE_ROW: Final = (
    "DELETE FROM gantry_once WHERE message_key = ? AND claimed_by = ? AND is_done = 0"
)


@final
class SqlStore:
    """A store in the table `gantry_once`. It owns its DB-API connection.

    Processes that use the same database share the store. `marker` is the driver's placeholder for a
    parameter: "?" or "%s".
    """

    def __init__(
        self,
        connection: Connection,
        *,
        marker: str = "?",
        retention_s: float = RETENTION_S,
        lease_s: float = LEASE_S,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._connection = connection
        self._marker = marker
        self.lease_s = lease_s
        self._retention_ms = round(retention_s * 1000)
        self._lease_ms = round(lease_s * 1000)
        self._wall_ms = wall_ms
        self._lock = threading.Lock()
        self._calls = 0
        self._prepare()

    @classmethod
    def at(cls, path: str, *, retention_s: float = RETENTION_S, lease_s: float = LEASE_S) -> Self:
        """Return a store in an SQLite file, for the processes of one machine."""
        connection = sqlite3.connect(path, timeout=30.0, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return cls(connection, retention_s=retention_s, lease_s=lease_s)

    def claim(self, key: str, owner: str) -> Claim:
        now_ms = self._wall_ms()
        with self._lock:
            self._clean(now_ms)
            due_ms = now_ms + self._lease_ms
            if self._insert(key, due_ms, owner):
                return Claim.NEW
            taken = self._change(
                "UPDATE gantry_once SET is_done = 0, until_ms = ?, claimed_by = ?"
                " WHERE message_key = ? AND until_ms <= ?",
                due_ms,
                owner,
                key,
                now_ms,
            )
            if taken:
                return Claim.NEW
            row = self._row(key)
            return Claim.DONE if row is not None and row[0] else Claim.BUSY

    def renew(self, key: str, owner: str) -> bool:
        due_ms = self._wall_ms() + self._lease_ms
        with self._lock:
            return self._change(_RENEW_ROW, due_ms, key, owner) > 0

    def done(self, key: str) -> None:
        until_ms = self._wall_ms() + self._retention_ms
        with self._lock:
            known = self._change(
                "UPDATE gantry_once SET is_done = 1, until_ms = ? WHERE message_key = ?",
                until_ms,
                key,
            )
            if not known and self._insert(key, until_ms):
                self._change("UPDATE gantry_once SET is_done = 1 WHERE message_key = ?", key)

    def release(self, key: str, owner: str) -> None:
        with self._lock:
            self._change(_RELEASE_ROW, key, owner)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        self._change(_CREATE)
        try:
            self._row("")
        except Exception:  # drivers have their own exceptions: the column is missing
            try:
                self._change(_ADD_OWNERS)
            except Exception:  # another process was faster, or it is a real failure
                self._row("")

    def _insert(self, key: str, until_ms: int, owner: str = "") -> bool:
        """Insert a claim; return False if the key exists."""
        if self._row(key) is not None:
            return False
        try:
            self._change(
                "INSERT INTO gantry_once (message_key, is_done, until_ms, claimed_by)"
                " VALUES (?, 0, ?, ?)",
                key,
                until_ms,
                owner,
            )
        except Exception:  # another process inserted the row, or it is a real failure
            if self._row(key) is None:
                raise
            return False
        return True

    def _row(self, key: str) -> Any:  # Any: rows depend on the driver
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._text(_SELECT), (key,))
            row = cursor.fetchone()
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        finally:
            cursor.close()
        return row

    def _clean(self, now_ms: int) -> None:
        if self._calls % _CLEAN_EVERY == 0:
            self._change("DELETE FROM gantry_once WHERE until_ms <= ?", now_ms)
        self._calls += 1

    def _change(self, statement: str, *values: object) -> int:
        """Execute and commit a statement; return the number of changed rows."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._text(statement), values)
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        else:
            return cursor.rowcount
        finally:
            cursor.close()

    def _text(self, statement: str) -> str:
        return statement.replace("?", self._marker)
