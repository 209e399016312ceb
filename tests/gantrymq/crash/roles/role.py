"""What every part of the client program does with a broker that is killed again and again."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Protocol

from gantrymq.crash.link import Link


class Role(Protocol):
    """One thread's work. It knows what it was promised, and finds out what became of that."""

    name: str
    faults: list[str]
    figures: Counter[str]

    def prepare(self, link: Link) -> None:
        """Once, before everything."""

    def play(self, link: Link) -> None:
        """One life: until the connection is cut."""

    def killed(self, config: Path) -> None:
        """The broker was killed, and left these files."""

    def revived(self, link: Link) -> None:
        """It serves again, and no role plays yet."""

    def settle(self, link: Link) -> bool:
        """After the last kill, again and again: whether everything there is to come has come."""

    def judge(self, link: Link) -> None:
        """All is settled: what is not as it was promised."""


def file_of(config: Path, name: str) -> dict[str, object]:
    """A file as the kill left it; fastjson writes numbers as keys without quotes."""
    path = config / name
    if not path.exists():
        return {}
    text = re.sub(r"([{,]\s*)(-?\d+):", r'\1"\2":', path.read_text())
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def table_of(config: Path, name: str, table: str) -> dict[str, object]:
    found = file_of(config, name).get(table) or {}
    assert isinstance(found, dict)
    return found


def offset_in(config: Path, topic: str, group: str, queue_id: int) -> int | None:
    """A group's offset in consumerOffset.json."""
    queues = table_of(config, "consumerOffset.json", "offsetTable").get(f"{topic}@{group}") or {}
    assert isinstance(queues, dict)
    offset = queues.get(str(queue_id))
    return None if offset is None else int(offset)
