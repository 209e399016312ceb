"""Tests the table of open half messages: copies, claims, and those given up and resumed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.tables import open_halves
from gantrymq.broker.core.tables.open_halves import OpenHalves
from gantrymq.fakes.brokers.transactions import HOST
from gantrymq.wire.message.record import Record


def half(number: int, origin: int | None = None) -> Record:
    held = b"" if origin is None else b"TRAN_PREPARED_QUEUE_OFFSET\x01%d\x02" % origin
    return Record(b"H", b"b", properties=held, queue_offset=number, born_host=HOST, store_host=HOST)


@given(
    st.integers(0, 5),
    st.lists(st.integers(0, 30), max_size=40),
    st.integers(0, 35),
    st.integers(0, 35),
)
def test_table_answers_as_a_plain_set_does(
    first: int, numbers: list[int], asked: int, end: int
) -> None:
    halves = OpenHalves()
    halves.begin(first)
    for number in numbers:
        halves.done(number)
    done = {*range(first), *numbers}
    is_open = [number not in done for number in range(100)]
    assert halves.first == is_open.index(True)
    assert halves.is_done(asked) == (asked in done)
    start = max(asked, halves.first)
    found = next((at for at in range(start, end) if is_open[at]), end)
    assert halves.next_open(asked, end) == found
    if found < end:
        run = halves.open_run(found, end)
        assert all(is_open[found : found + run])
        assert found + run == end or not is_open[found + run]


def test_number_of_copies_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_halves, "COPIED_MAX", 2)
    halves = OpenHalves()
    halves.begin(0)
    for origin in (0, 1):
        assert not halves.is_copied(half(origin))
        halves.replaced(half(origin + 5, origin), origin)
    assert (halves.copied, halves.room) == (2, 0)
    assert halves.is_copied(half(5, 0))
    halves.ended(half(5, 0))
    assert (halves.copied, halves.room) == (1, 1)


def test_transaction_is_open_under_all_its_copies_or_none() -> None:
    halves = OpenHalves()
    halves.begin(0)
    copies = [half(0), half(3, 0), half(5, 0)]
    for copy, before in ((copies[1], 0), (copies[2], 3)):
        halves.replaced(copy, before)
    assert [halves.is_open(copy) for copy in copies] == [True] * 3
    assert [halves.newest(copy) for copy in copies] == [5] * 3
    halves.ended(copies[0])
    assert [halves.is_open(copy) for copy in copies] == [False] * 3
    assert halves.is_open(half(4))


def test_claim_covers_all_copies_until_it_ends() -> None:
    halves = OpenHalves()
    with halves.claim([half(0)]):
        assert halves.is_claimed(half(3, 0))
        assert not halves.is_claimed(half(1))
    assert not halves.is_claimed(half(0))


def test_impossible_origin_is_ignored() -> None:
    halves = OpenHalves()
    halves.begin(0)
    halves.done(9)
    assert halves.is_open(half(4, 9))
    assert halves.newest(half(4, -3)) == 4


def test_half_message_is_resumed_once_unless_the_attempt_failed() -> None:
    halves = OpenHalves()
    assert halves.resume(7)
    assert not halves.resume(7)
    halves.not_resumed(7)
    assert halves.resume(7)


def test_resumed_half_messages_are_forgotten_after_many_more_and_with_a_new_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_halves, "RESUMED_MAX", 2)
    halves = OpenHalves()
    assert [halves.resume(position) for position in (1, 2, 3)] == [True] * 3
    assert [halves.resume(position) for position in (3, 2, 1)] == [False, False, True]
    halves.begin(0)
    assert halves.resume(3)
