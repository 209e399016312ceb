"""Tests that a broker's pages have the metrics of the tables, and no others."""

from collections.abc import Iterable

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.metrics import compat4, member, page
from gantrymq.broker.metrics.member import MemberFigures
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.replicas import opened_slave
from gantrymq.fakes.metrics import page_of
from gantrymq.metrics.family import Family
from gantrymq.metrics.samples import Samples
from gantrymq.metrics.tables import broker as own
from gantrymq.metrics.tables import exporter4, rocketmq5

FIGURES = MemberFigures(1, 1, 1, 0.5, False, False, 0, False, 0, False, 0)


def families(samples: Iterable[Samples]) -> list[Family]:
    return [each.family for each in samples]


def test_masters_slaves_and_members_show_the_whole_table_between_them() -> None:
    settings = BrokerSettings(metrics_queue_lag_enable=True)
    master = families(page.samples(OpenedBroker(settings).broker))
    slave = families(page.samples(opened_slave().broker))
    elected = families(member.samples(FIGURES, base=""))
    assert {*master, *slave, *elected} == {*rocketmq5.TABLE, *own.TABLE}


def test_each_metric_is_shown_once() -> None:
    for broker in (OpenedBroker(), opened_slave()):
        shown = [each.name for each in families(page.samples(broker.broker))]
        assert sorted(set(shown)) == sorted(shown)


def test_the_page_of_the_exporter_has_its_table() -> None:
    broker = OpenedBroker()
    broker.pass_time(1.0)
    shown = set(families(compat4.samples(broker.broker)))
    late = {each for each in exporter4.TABLE if each.name.endswith(("tps10", "tps60", "tps600"))}
    assert shown | late | {*exporter4.PUT_TIME_CLASSES} == set(exporter4.TABLE)


def test_rows_have_as_many_labels_as_their_metric() -> None:
    broker = OpenedBroker()
    page_of(broker)
    for samples in (*page.samples(broker.broker), *compat4.samples(broker.broker)):
        assert all(len(labels) == len(samples.family.labels) for labels, _ in samples.rows)
