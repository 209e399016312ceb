"""Tables' texts that are kept entry by entry."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.engine.table_texts import STALE_MAX, EntryTexts, member
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, JsonObject

NAMES = st.sampled_from(["a", "b", 'q"uote', "line\nbreak", "ü"])
VALUES: st.SearchStrategy[Json] = st.sampled_from(
    [{"x": 1}, {}, {0: 1, 1: 2}, {"y": {"z": ["t\n"]}}]
)


@given(st.lists(st.tuples(NAMES, st.none() | VALUES)))
def test_the_text_is_that_of_the_whole_table(changes: list[tuple[str, Json]]) -> None:
    table: JsonObject = {}
    texts = EntryTexts[str](lambda name: member(name, table[name]))
    for name, value in changes:
        if value is None:
            table.pop(name, None)
            texts.removed(name)
        else:
            table[name] = value
            texts.changed(name)
    file = javajson.dumps_pretty({"table": table})
    assert b'{\n\t"table":%b\n}' % texts.text() == file


def test_few_texts_are_left_to_be_made_when_a_file_is_due() -> None:
    made: list[int] = []

    def text_of(key: int) -> bytes:
        made.append(key)
        return b"%d" % key

    texts = EntryTexts[int](text_of)
    for key in range(1000):
        texts.changed(key)
    assert len(made) == 1000 - STALE_MAX
    made.clear()
    texts.text()
    assert len(made) == STALE_MAX
    texts.changed(7)
    texts.text()
    assert made[STALE_MAX:] == [7]
