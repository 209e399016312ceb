"""Tests that runtime metrics with the exporter's names agree with the answer to mqadmin."""

from __future__ import annotations

from gantrymq.broker.metrics import compat4_runtime
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.metrics.tables import exporter4


def shown(broker: OpenedBroker) -> dict[str, float]:
    """The figures of the broker as a whole, by name."""
    found: dict[str, float] = {}
    for samples in compat4_runtime.samples(broker.broker):
        ((_, value),) = list(samples.rows)
        assert isinstance(value, int | float)
        found[samples.family.name] = value
    return found


def test_sends_of_the_last_minute_are_shown_by_how_long_they_took() -> None:
    broker = OpenedBroker()
    broker.state.admission.latency.note(0.02, 7, 0.0)
    names = [family.name for family in exporter4.PUT_TIME_CLASSES]
    assert not shown(broker).keys() & set(names), "Java has none in the first minute"
    broker.pass_time(60.0)
    values = shown(broker)
    assert [values[name] for name in names] == [0, 0, 7, *[0] * 10]


def test_rates_move_with_the_age_of_the_broker() -> None:
    broker = OpenedBroker()
    broker.state.stats.sent("T", 40, 400)
    broker.pass_time(10.0)
    assert shown(broker)[exporter4.BROKER_TPS.name] == 2.0


def test_the_longest_times_are_those_since_the_start() -> None:
    broker = OpenedBroker()
    broker.state.admission.latency.note(0.3, 1, 0.0)
    broker.state.stats.read_took(0.0125)
    broker.pass_time(600.0)
    values = shown(broker)
    assert values[exporter4.PUTMESSAGE_ENTIRE_TIME_MAX.name] == 300
    assert values[exporter4.GETMESSAGE_ENTIRE_TIME_MAX.name] == 12
