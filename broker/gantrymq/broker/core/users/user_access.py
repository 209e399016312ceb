"""The table of users in force, and a change of it on its way to the file.

    load(content)                       a start finds the file
    begin(table), commit(), drop()      a request changes it: it counts when the file has it
    overtake(content)                   another broker leads, and this is its table

Invariant: a change counts only once config/users.json is on disk with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from gantrymq.acl.users import table_file
from gantrymq.acl.users.table import UserTable

if TYPE_CHECKING:
    from gantrymq.acl.guard import Guard
    from gantrymq.acl.users.table_file import Seal


@final
class UserAccess:
    """Owned by the Access of one broker with authenticationEnabled."""

    __slots__ = ("_guard", "_seal", "coming")

    def __init__(self, guard: Guard, seal: Seal | None) -> None:
        self._guard = guard
        self._seal = seal
        self.coming: UserTable | None = None
        """What the file shall hold, and does not yet."""

    @property
    def table(self) -> UserTable:
        """What counts now."""
        return self._guard.users

    @property
    def is_changing(self) -> bool:
        return self.coming is not None

    def load(self, content: bytes) -> None:
        """RemoteError where it is no such file, or another key sealed it."""
        self.replace(table_file.read(content, self._seal))

    def replace(self, table: UserTable) -> None:
        self._guard.replace_users(table)

    def begin(self, table: UserTable) -> None:
        """From now on the file shall hold this. RemoteError where no file can."""
        assert self.coming is None, "one change at a time"
        table_file.write(table, self._seal)
        self.coming = table

    def commit(self) -> None:
        """The file has it."""
        assert self.coming is not None, "nothing was begun"
        self.replace(self.coming)
        self.coming = None

    def drop(self) -> None:
        """The file could not be written."""
        self.coming = None

    def overtake(self, content: bytes) -> None:
        """The master has this table; the file has it later. RemoteError where it has none."""
        table = table_file.read(content, self._seal)
        self.coming = None
        self.replace(table)

    def content(self) -> bytes:
        """What the file must hold now."""
        return table_file.write(self.coming or self.table, self._seal)
