"""Which handler serves which request code: the tables of all modules that have some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gantrymq.broker.core.handler import Handler, Handlers

TABLES: Final[Iterable[Handlers]] = ()

REQUESTS: Final[dict[int, Handler]] = {
    int(code): handler for table in TABLES for code, handler in table.items()
}
