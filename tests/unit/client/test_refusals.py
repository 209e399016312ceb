"""Tests that each kind of member refuses invalid arguments where they are given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.client import (
    ConfigurationError,
    PopConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    Sql,
    SubscriptionError,
    TransactionProducer,
    TransactionState,
    blocking,
)
from gantrymq.client.core.message.received import ReceivedMessage

SERVERS = "127.0.0.1:9876"


def check(message: ReceivedMessage) -> TransactionState:
    del message
    return TransactionState.UNKNOWN


def transactional(group: str, *, name_servers: str) -> TransactionProducer:
    return TransactionProducer(group, check=check, name_servers=name_servers)


MEMBERS = [Producer, transactional, PushConsumer, PullConsumer, PopConsumer, blocking.Producer]


@pytest.mark.parametrize("make", MEMBERS)
def test_without_name_servers_the_start_fails_at_once(
    make: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(ConfigurationError, match="give name_servers, or set NAMESRV_ADDR"):
        make("G", name_servers="")


@pytest.mark.parametrize("server", ["nohost", "host:", ":9876", "host:port", "host:65536"])
@pytest.mark.parametrize("make", MEMBERS)
def test_a_name_server_has_an_address(make: Callable[..., object], server: str) -> None:
    with pytest.raises(ConfigurationError, match=r"must be host:port.* not '" + server):
        make("G", name_servers=f"{SERVERS};{server}")


def listen(messages: list[ReceivedMessage]) -> None:
    del messages


@pytest.mark.parametrize(
    ("topic", "expression", "text"),
    [
        ("bad topic", "*", "illegal characters"),
        ("", "*", "is blank"),
        ("T" * 128, "*", "longer than topic max length 127"),
        ("T", Sql(" "), "is blank; write one"),
        ("T", None, "no expression"),
        ("T", "||", "names no tag"),
    ],
)
def test_an_empty_subscription_is_refused(topic: str, expression: str, text: str) -> None:
    for make in (PullConsumer, PopConsumer):
        with pytest.raises(SubscriptionError, match=text):
            make("G", name_servers=SERVERS).subscribe(topic, expression)
    with pytest.raises(SubscriptionError, match=text):
        PushConsumer("G", name_servers=SERVERS).subscribe(topic, expression, listen)


def test_dead_letters_of_a_group_with_a_long_name_can_be_read() -> None:
    PullConsumer("G", name_servers=SERVERS).subscribe("%DLQ%" + "G" * 255)


def test_a_listener_must_be_callable() -> None:
    consumer = PushConsumer("G", name_servers=SERVERS)
    with pytest.raises(SubscriptionError, match="the listener of T is None"):
        consumer.subscribe("T", "*", None)  # type: ignore[arg-type]  # that is what is tested


def test_a_single_bar_between_tags_is_warned_about() -> None:
    """Probably: a tag may be called so."""
    consumer = PullConsumer("G", name_servers=SERVERS)
    with pytest.warns(UserWarning, match=r"a tag that is called 'a\|b'") as warned:
        consumer.subscribe("T", "a|b")
    assert [each.filename for each in warned] == [__file__]
