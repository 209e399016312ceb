"""What a group wants of a topic, and whether a broker takes it."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.client.core.group.subscriptions import (
    Expression,
    Sql,
    SubscriptionError,
    check,
    subscription,
)
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import Consumer
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message import properties


def test_tags_are_sent_with_javas_hashes() -> None:
    data = subscription("VecTopic", "TagA || TagZ || TagT || TagD", 7).data
    assert data.sub_string == "TagA || TagZ || TagT || TagD"
    assert data.tags == ("TagA", "TagZ", "TagT", "TagD")
    assert data.codes == (2598919, 2598944, 2598938, 2598922)
    assert (data.expression_type, data.sub_version) == ("TAG", 7)


@pytest.mark.parametrize("expression", ["*", "", " * "])
def test_star_matches_all_messages(expression: str) -> None:
    subscribed = subscription("T", expression, 0)
    assert subscribed.data.sub_string == "*"
    assert subscribed.wants(b"")


def test_a_tag_is_compared_and_not_its_hash() -> None:
    subscribed = subscription("T", "Aa|| b ", 0)
    assert subscribed.data.codes == (2112, 98)
    wanted = [tag for tag in ("Aa", "BB", "b", "") if subscribed.wants(_tagged(tag))]
    assert wanted == ["Aa", "b"]


def _tagged(tag: str) -> bytes:
    return properties.encode({"TAGS": tag, "KEYS": "b"})


def test_sql_is_evaluated_by_the_broker() -> None:
    subscribed = subscription("T", Sql("a > 3"), 9)
    assert subscribed.data.expression_type == "SQL92"
    assert (subscribed.data.sub_string, subscribed.data.tags) == ("a > 3", ())
    assert subscribed.wants(b"")


@pytest.mark.parametrize("expression", ["||", Sql(" ")])
def test_a_blank_expression_is_refused(expression: Expression) -> None:
    with pytest.raises(SubscriptionError):
        subscription("T", expression, 0)


@pytest.mark.parametrize(
    ("takes_sql", "expression", "refusal"),
    [
        (True, Sql("a > 3"), None),
        (True, Sql("a >"), r"T: .*23 \(SUBSCRIPTION_PARSE_FAILED\)"),
        (False, Sql("a > 3"), "does not support consumer to filter message by SQL92"),
        (False, "a || b", None),
    ],
)
def test_a_broker_checks_the_expression_before_the_start(
    takes_sql: bool, expression: Expression, refusal: str | None
) -> None:
    cluster = Cluster(settings=BrokerSettings(enable_property_filter=takes_sql))
    client = cluster.client("me@1")
    asked = check(client.instance, "G", subscription("T", expression, 0))
    if refusal is None:
        client.run(asked)
    else:
        with pytest.raises(SubscriptionError, match=refusal):
            client.run(asked)
    assert len(cluster.asked_of(RequestCode.CHECK_CLIENT_CONFIG)) == isinstance(expression, Sql)


def test_an_unreachable_broker_is_a_subscription_error() -> None:
    cluster = Cluster()
    client = cluster.client("me@1")
    cluster.stop("broker-a")
    with pytest.raises(SubscriptionError, match="Check client in broker error"):
        client.run(check(client.instance, "G", subscription("T", Sql("a > 3"), 0)))


def test_messages_that_an_old_filter_excluded_are_pulled_again() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster)
    consumer.member.subscribe("T", "a", consumer.listen)
    consumer.client.instance.start()
    consumer.client.run(consumer.member.start())
    cluster.pass_time(0.1)
    consumer.member.subscribe("T", "b", consumer.listen)
    cluster.pass_time(0.5)
    cluster.store("new", TAGS="b")
    cluster.pass_time(20.0)
    assert consumer.bodies == ["new"]
