"""Bulk pulls: how much they give, and what they leave to others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.brokers.broker import STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.pulls import PulledBroker, bodies, place, pull
from gantrymq.store.read.pull import pull as read
from gantrymq.store.read.pull_batch import BULK_UNITS, UNITS_MAX
from gantrymq.store.read.pull_query import PullQuery
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.message.record import decode_all

COUNT = 900


@pytest.fixture(scope="module")
def pulls() -> PulledBroker:
    """Messages 0 to 899; each hundredth has the tag `few`."""
    filled = PulledBroker()
    for number in range(COUNT):
        filled.store(str(number), TAGS="few" if number % 100 == 0 else "many")
    return filled


def ask(pulls: PulledBroker, offset: int = 0, bulk: str = "true", **fields: object) -> Command:
    """The answer to a bulk pull."""
    header = pull(offset, **{"max_msg_nums": 4096, "max_msg_bytes": 1 << 20, **fields})
    return pulls.broker.ask(RequestCode.PULL_MESSAGE, header, ext={"bulk": bulk})


def test_bulk_pull_gives_as_many_messages_as_it_asks_for(pulls: PulledBroker) -> None:
    answer = ask(pulls, 5)
    assert answer.code == ResponseCode.SUCCESS
    assert bodies(answer) == [str(number) for number in range(5, COUNT)]
    assert place(answer) == (COUNT, 0, COUNT)
    assert len(bodies(ask(pulls, 5, max_msg_nums=300))) == 300


@pytest.mark.parametrize("bulk", ["", "false", "1"])
def test_pull_without_the_mark_keeps_to_the_limits_of_all(pulls: PulledBroker, bulk: str) -> None:
    assert len(bodies(ask(pulls, bulk=bulk))) == 32


def test_bulk_pull_gives_no_more_bytes_than_it_asks_for(pulls: PulledBroker) -> None:
    one = len(ask(pulls, 101, max_msg_nums=1).body)
    answer = ask(pulls, 101, max_msg_bytes=10 * one + 1)
    assert len(bodies(answer)) == 10
    assert place(answer)[0] == 111
    assert len(bodies(ask(pulls, 100, max_msg_bytes=1))) == 1


def test_bulk_pull_is_limited_by_the_settings() -> None:
    limited = replace(STORE_SETTINGS, max_transfer_count_on_bulk_pull=40)
    pulls = PulledBroker(OpenedBroker(store_settings=limited))
    pulls.store(*map(str, range(60)))
    assert len(bodies(ask(pulls))) == 40


def test_filtered_bulk_pull_looks_at_a_bounded_number_of_messages(pulls: PulledBroker) -> None:
    few = ask(pulls, subscription="few")
    assert bodies(few) == [str(number) for number in range(0, COUNT, 100)]
    none = ask(pulls, subscription="none", max_msg_nums=10)
    assert none.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert place(none)[0] == UNITS_MAX


def test_bulk_pull_lets_others_go_first_before_each_piece(pulls: PulledBroker) -> None:
    query = PullQuery("T", 0, 0, 4096, bulk_bytes_max=1 << 20)
    reading = read(pulls.state.store, query, 1 << 40)
    rests = list(reading)
    assert rests == [None] * -(-COUNT // BULK_UNITS)  # all of it is in memory


def test_bulk_pulls_keep_no_blocks_of_the_log_in_memory(pulls: PulledBroker) -> None:
    pulls.state.store.log._blocks.clear()
    pulls.state.store.log._blocks.block_bytes = 1000
    for _ in range(5):
        assert len(decode_all(ask(pulls).body)) == COUNT
    assert not pulls.state.store.log._blocks._blocks
    assert not pulls.state.store.log._blocks._looks
