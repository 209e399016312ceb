"""Holds the table of users in force, and a change that is being written to the file.

    load(content)                       at startup
    begin(table), commit(), drop()      a change by request, in force once the file has it
    overtake(content)                   the table of a new master

Invariant: a change is in force only once config/users.json is on disk with it.
"""

from __future__ import annotations

from typing import final

from gantrymq.acl.guard import Guard
from gantrymq.acl.users import table_file
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.table_file import Seal


@final
class UserAccess:
    """The users of one broker with authenticationEnabled, owned by its `Access`."""

    __slots__ = ("_guard", "_seal", "coming")

    def __init__(self, guard: Guard, seal: Seal | None) -> None:
        self._guard = guard
        self._seal = seal
        self.coming: UserTable | None = None
        """The table that is being written to the file; None if there is none."""

    @property
    def table(self) -> UserTable:
        """The table in force."""
        return self._guard.users

    @property
    def is_changing(self) -> bool:
        return self.coming is not None

    def load(self, content: bytes) -> None:
        """Load the file. Raises RemoteError for malformed content, or content sealed with another
        key."""
        self.replace(table_file.read(content, self._seal))

    def replace(self, table: UserTable) -> None:
        self._guard.replace_users(table)

    def begin(self, table: UserTable) -> None:
        """Start a change. Raises RemoteError if the table cannot be written to a file."""
        assert self.coming is None, "one change at a time"
        table_file.write(table, self._seal)
        self.coming = table

    def commit(self) -> None:
        """Put the change in force, because the file has it."""
        assert self.coming is not None, "nothing was begun"
        self.replace(self.coming)
        self.coming = None

    def drop(self) -> None:
        """Drop the change, because the file could not be written."""
        self.coming = None

    def overtake(self, content: bytes) -> None:
        """Put the master's table in force; the file follows later. Raises RemoteError for malformed
        content."""
        table = table_file.read(content, self._seal)
        self.coming = None
        self.replace(table)

    def content(self) -> bytes:
        """The content that the file should have."""
        return table_file.write(self.coming or self.table, self._seal)
