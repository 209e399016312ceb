"""What the broker counts, and for how long."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.figures.stats import Stats
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.store.append.kernel_counts import KernelCounts, SizeCounts


def test_puts_and_gets_count_for_topic_group_and_broker() -> None:
    broker = OpenedBroker()
    stats = broker.state.stats
    stats.sent("T", 3, 300)
    stats.got("G", "T", 2, 200)
    stats.missed()
    broker.pass_time(10.0)
    assert stats.put_tps("T") == pytest.approx(0.15)
    assert stats.consume_tps("G", "T") == pytest.approx(0.1)
    assert stats.consume_tps("T", "G") == 0.0
    assert stats.broker_put.counts(10.0)[0].total == 3
    assert stats.broker_got.sizes(10.0)[0].total == 200
    totals = stats.totals
    assert (totals.puts, totals.put_bytes, totals.found, totals.missed) == (3, 300, 1, 1)


def test_figures_move_with_the_age_of_the_broker_as_javas_do() -> None:
    broker = OpenedBroker()
    broker.pass_time(15.0)
    state = broker.state
    stats = Stats(state, state.figures, state.topics, state.groups)
    stats.sent("T", 3, 300)
    stats.delivered("SCHEDULE_CONSUMER", "SCHEDULE_TOPIC_XXXX", 2, 20)
    broker.pass_time(9.0)
    assert stats.put_tps("T") == 0.0
    broker.pass_time(1.0)
    assert stats.put_tps("T") == pytest.approx(0.15)
    assert stats.consume_tps("SCHEDULE_CONSUMER", "SCHEDULE_TOPIC_XXXX") == pytest.approx(0.1)


def test_the_brokers_own_topics_are_none_of_the_users_messages() -> None:
    state = OpenedBroker().state
    stats = state.stats
    stats.sent("SCHEDULE_TOPIC_XXXX", 5, 50)
    stats.sent("rmq_sys_wheel_timer", 4, 40)
    stats.sent(state.identity.name, 1, 10)  # where mqadmin sendMsgStatus sends to
    stats.sent("T", 1, 10)
    stats.got("G", "RMQ_SYS_TRANS_HALF_TOPIC", 4, 40)
    assert (stats.totals.puts, stats.totals.plain_puts) == (11, 1)
    assert (stats.totals.transferred, stats.totals.plain_transferred) == (4, 0)


def kernel_took(topic: str, count: int, size: int) -> KernelCounts:
    """One request."""
    counts = SizeCounts()
    counts.note(count, size)
    return KernelCounts(topic, counts, is_fifo=False)


def test_counts_of_the_kernel_are_read_each_second() -> None:
    broker = OpenedBroker()
    stats = broker.state.stats
    taken = [[kernel_took("T", 2, 20), kernel_took("U", 1, 5)], [kernel_took("T", 1, 10)]]
    stats.kernel_counts = lambda: taken.pop(0) if taken else []
    broker.pass_time(10.0)
    assert not taken
    assert (stats.totals.puts, stats.totals.put_bytes) == (4, 35)
    series = stats.topic("T")
    assert series is not None
    assert series.counts(10.0)[0].per_call == 1.5


def test_averages_come_when_the_broker_is_up_for_as_long() -> None:
    broker = OpenedBroker()
    stats = broker.state.stats
    assert stats.averages()[0] == "  "
    broker.pass_time(5.0)
    stats.sent("T", 100, 1000)
    stats.got("G", "T", 50, 500)
    broker.pass_time(6.0)
    puts, found, missed, transferred = stats.averages()
    assert (puts, found, missed, transferred) == ("10.0  ", "0.1  ", "0.0  ", "5.0  ")
    assert stats.pulls_per_second() == "0.1 0.0 0.0"
    broker.pass_time(590.0)
    assert stats.averages()[0] == "0.0 0.0 " + str(100 / 600)


def test_yesterday_ends_at_midnight_here() -> None:
    broker = OpenedBroker()
    stats = broker.state.stats
    hours = iter([23, 23, 0, 0, 1])
    stats.local_hour = lambda _: next(hours)
    stats.sent("T", 7, 70)
    broker.pass_time(1.5)
    assert stats.mornings.puts_today == 0
    broker.pass_time(2.0)
    assert (stats.mornings.puts_yesterday, stats.mornings.puts_today) == (0, 7)


def test_a_series_goes_when_it_counted_nothing_for_a_day() -> None:
    broker = OpenedBroker()
    stats = broker.state.stats
    stats.sent("T", 1, 1)
    stats.sent_back("G", "T")
    stats.expire(86_000.0)
    assert stats.topic("T") is not None
    stats.expire(87_000.0)
    assert stats.topic("T") is None
    assert stats.returns("G", "T") is None


def test_more_topics_than_that_count_in_the_totals_only() -> None:
    broker = OpenedBroker()
    stats = broker.state.stats
    stats.limit = 4
    for number in range(5):
        stats.sent(f"T{number}", 1, 1)
    assert stats.topic("T4") is None
    assert stats.totals.puts == 5
    # Where room is short, an hour of silence is enough to go.
    stats.expire(4_300.0)
    stats.sent("T4", 1, 1)
    assert stats.topic("T4") is not None
