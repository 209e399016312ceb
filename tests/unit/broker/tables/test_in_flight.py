"""Which messages are out: by queue, by time, and in the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.tables import in_flight as module
from gantrymq.broker.core.tables.in_flight import NEVER_MS, InFlightMessage, InFlightMessages

PLACE = ("G", "T", 0)
OTHER = ("H", "T", 1)


def out(
    in_flight: InFlightMessages, place: tuple[str, str, int], *offsets: int, due_ms: int
) -> None:
    in_flight.take(place, offsets, offsets[-1] + 1, pop_ms=1, due_ms=due_ms)


def offsets(due: object) -> list[int]:
    assert isinstance(due, list | tuple)
    return [message.offset for message in due if isinstance(message, InFlightMessage)]


def test_due_messages_are_given_out_once_a_queue_at_a_time() -> None:
    in_flight = InFlightMessages()
    out(in_flight, PLACE, 5, 6, 7, due_ms=10_000)
    out(in_flight, OTHER, 1, due_ms=10_500)
    assert in_flight.next_due_ms() == 11_000
    assert in_flight.take_due(10_999, 9) == ()
    found = [offsets(in_flight.take_due(11_000, 2)) for _ in range(4)]
    assert found == [[5, 6], [7], [1], []]
    assert (len(in_flight), in_flight.next_due_ms()) == (4, NEVER_MS)


def test_due_message_cannot_be_acknowledged() -> None:
    in_flight = InFlightMessages()
    out(in_flight, PLACE, 5, due_ms=10_000)
    assert in_flight.find(PLACE, 5, 1) is not None
    in_flight.take_due(11_000, 9)
    assert in_flight.find(PLACE, 5, 1) is None


def test_the_last_one_says_where_the_group_is() -> None:
    in_flight = InFlightMessages()
    out(in_flight, PLACE, 5, 9, due_ms=10_000)
    first, last = (in_flight.find(PLACE, offset, 1) for offset in (5, 9))
    assert first is not None
    assert last is not None
    assert in_flight.drop(last) is None
    assert in_flight.next(PLACE) == 10
    assert in_flight.drop(first) == 10
    assert in_flight.next(PLACE) is None
    assert in_flight.drop(first) is None


def test_a_group_leaves_room_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUP_IN_FLIGHT_MAX", 3)
    monkeypatch.setattr(module, "IN_FLIGHT_MAX", 4)
    in_flight = InFlightMessages()
    out(in_flight, PLACE, 1, 2, 3, due_ms=10_000)
    assert (in_flight.room("G"), in_flight.room("H")) == (0, 1)
    out(in_flight, OTHER, 1, due_ms=10_000)
    assert in_flight.room("H") == 0


def test_move_ends_the_flight_of_all_messages_from_its_offset_on() -> None:
    in_flight = InFlightMessages()
    out(in_flight, PLACE, 1, 2, 3, due_ms=10_000)
    assert in_flight.move(PLACE, 2)
    assert in_flight.next(PLACE) == 2
    assert offsets(in_flight.take_due(11_000, 9)) == [1]
    assert not in_flight.move(PLACE, 0)
    assert len(in_flight) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 9_000), st.booleans()),
        unique_by=lambda item: item[0],
    )
)
def test_each_comes_back_unless_it_was_acknowledged(items: list[tuple[int, int, bool]]) -> None:
    in_flight = InFlightMessages()
    for offset, due_ms, _ in items:
        out(in_flight, PLACE, offset, due_ms=due_ms)
    for offset, _, is_acked in items:
        message = in_flight.find(PLACE, offset, 1)
        assert message is not None
        if is_acked:
            in_flight.drop(message)
    copy = InFlightMessages()
    copy.load(in_flight.content())
    wanted = sorted(offset for offset, _, is_acked in items if not is_acked)
    for each in (in_flight, copy):
        found: list[int] = []
        while due := each.take_due(20_000, 5):
            found += offsets(due)
        assert sorted(found) == wanted


def test_the_file_has_the_messages_of_a_pop_together() -> None:
    in_flight = InFlightMessages()
    out(in_flight, PLACE, 17, 18, due_ms=10_000)
    assert in_flight.content() == (b'{\n\t"checkouts":{\n\t\t"T@G":{0:{"1 10000":[17,18]}}\n\t}\n}')
    assert InFlightMessages().content() == b'{\n\t"checkouts":{\n\t}\n}'


@pytest.mark.parametrize(
    "text", [b"[]", b'{"checkouts":{"T@G":{"0":{"1":[2]}}}}', b'{"checkouts":{"T@G":{"0":[2]}}}']
)
def test_a_file_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(RemoteError):
        InFlightMessages().load(text)
