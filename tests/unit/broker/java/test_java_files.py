"""The tables' files that a Java broker wrote, read and written again."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.tables.groups import Groups
from gantrymq.broker.core.tables.offsets import Offsets
from gantrymq.broker.core.tables.topics import Topics

VECTORS = Path(__file__).parents[3] / "vectors"


class Table(Protocol):
    def load(self, content: bytes) -> None: ...

    def content(self) -> bytes: ...


@pytest.mark.parametrize(
    ("name", "member", "make"),
    [
        ("topics.json", '"topicConfigTable":', Topics),
        ("subscriptionGroup.json", '"subscriptionGroupTable":', Groups),
        ("consumerOffset.json", '"offsetTable":', Offsets),
    ],
)
def test_the_table_is_the_same_to_the_byte(
    name: str, member: str, make: Callable[[Files], Table]
) -> None:
    with tarfile.open(VECTORS / "store-5.3.3-clean.tar.gz") as archive:
        file = archive.extractfile(f"store/config/{name}")
        assert file is not None
        javas = file.read()
    table = make(Files())
    table.load(javas)
    assert table.content().decode().partition(member)[2] == javas.decode().partition(member)[2]
