"""Encodes answers with an entry for each queue of a topic over several turns.

A topic may have 16 384 queues. Encoding the JSON of one entry takes about 25 us, so encoding all
entries at once would block the event loop for 400 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import JsonKey, JsonObject

# Entries that one turn encodes: about 6 ms.
ENTRIES_A_TURN: Final = 256


def array(entries: Iterable[JsonObject]) -> Task[bytes]:
    """The entries as a JSON array, as fastjson writes it."""
    texts: list[bytes] = []
    yield from tasks.each(
        entries, lambda entry: texts.append(javajson.dumps_fastjson(entry)), ENTRIES_A_TURN
    )
    return b"[%b]" % b",".join(texts)


def members(table: Mapping[JsonKey, int]) -> Task[bytes]:
    """The table as a JSON object, as fastjson writes it."""
    texts: list[bytes] = []
    yield from tasks.each(
        table.items(),
        lambda pair: texts.append(javajson.dumps_fastjson({pair[0]: pair[1]})[1:-1]),
        ENTRIES_A_TURN,
    )
    return b"{%b}" % b",".join(texts)
