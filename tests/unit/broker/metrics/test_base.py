"""Tests the labels that all metrics of a broker have."""

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.metrics.base import age_ms, base_of, is_retry_or_dead, is_system, own_labels
from gantrymq.fakes.brokers.broker import OpenedBroker


def test_each_metric_names_cluster_and_broker() -> None:
    base = base_of(OpenedBroker().state)
    assert base == 'cluster="DefaultCluster",node_type="broker",node_id="broker-a"'


def test_the_setting_adds_labels() -> None:
    settings = BrokerSettings(metrics_label="zone:eu, team:a b")
    assert base_of(OpenedBroker(settings).state).endswith(',zone="eu",team="a b"')


def test_what_is_no_label_is_left_out() -> None:
    assert own_labels("zone:eu,,alone,a-b:c,1:2,é:f") == {"zone": "eu"}


def test_system_topics_and_groups_are_told_from_users() -> None:
    assert is_system("SCHEDULE_TOPIC_XXXX") == "true"
    assert is_system("T", "CID_RMQ_SYS_TRANS") == "true"
    assert is_system("T", "G") == "false"


def test_retry_and_dead_letter_topics_are_known() -> None:
    assert is_retry_or_dead("%RETRY%G")
    assert is_retry_or_dead("%DLQ%G")
    assert not is_retry_or_dead("T")


def test_what_never_was_has_no_age() -> None:
    assert age_ms(0, 5_000) == 0
    assert age_ms(2_000, 5_000) == 3_000
    assert age_ms(9_000, 5_000) == 0, "the clock went back"
