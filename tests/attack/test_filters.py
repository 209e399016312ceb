"""Attacks by filters: expensive SQL92 expressions, and many subscriptions."""

from __future__ import annotations

import time

import pytest

from gantrymq.attack import requests
from gantrymq.attack.legitimate import GROUP
from gantrymq.attack.legitimate import TOPIC as OWN_TOPIC
from gantrymq.attack.peer import Connections, Peer, ask_each
from gantrymq.attack.site import USER, Site
from gantrymq.attack.trial import Trial
from gantrymq.wire.codes import RequestCode

TOPIC = "filtered"
MESSAGES = 300
PROPERTY = "a" * 30_000
CONTAINS = " OR ".join(f"p CONTAINS '{'a' * 20}{number}'" for number in range(740))


@pytest.fixture(scope="module")
def filtered(open_site: Site) -> Site:
    """A topic of messages with one long property."""
    open_site.create_topic(TOPIC, 1)
    with Peer(open_site.broker) as peer:
        ext = requests.send(TOPIC, requests.properties(p=PROPERTY))
        for _ in range(MESSAGES):
            assert peer.ask(RequestCode.SEND_MESSAGE_V2, ext, b"x").code == 0
    return open_site


def sql(expression: str, group: str = "filterers") -> dict[str, str]:
    return requests.pull(TOPIC, group, expression=expression, expression_type="SQL92")


def test_expensive_expressions_do_not_stall_clients(attack: Trial, filtered: Site) -> None:
    what = "20 pulls with 740 CONTAINS over 300 properties of 30 KB, closed after 2 s"
    with attack("SQL92", what) as attempt:
        peers = [Peer(filtered.broker) for _ in range(20)]
        for number, peer in enumerate(peers):
            peer.send(RequestCode.PULL_MESSAGE, sql(CONTAINS, f"filterers-{number}"))
        time.sleep(2.0)
        for peer in peers:
            peer.close()
        time.sleep(2.0)  # work that continued for closed connections would show
        attempt.outcome = "refused, or done in slices and ended with its connection"


def test_expensive_expressions_of_an_account_do_not_stall_clients(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    what = "20 pulls with 740 CONTAINS by an account over 100 messages of 30 KB that it sent"
    with guarded_attack("SQL92", what) as attempt:
        message = requests.send(OWN_TOPIC, requests.properties(p=PROPERTY))
        sends = [(RequestCode.SEND_MESSAGE_V2, message, b"x")] * 100
        assert ask_each(guarded_site.broker, sends, USER).counts["code 0"]
        peers = [Peer(guarded_site.broker, USER) for _ in range(20)]
        ext = requests.pull(OWN_TOPIC, GROUP, expression=CONTAINS, expression_type="SQL92")
        for peer in peers:
            peer.send(RequestCode.PULL_MESSAGE, ext)
        time.sleep(2.0)
        for peer in peers:
            peer.close()
        time.sleep(1.0)
        attempt.outcome = "refused, or done in slices and ended with its connection"


EXPRESSIONS = {
    "20 000 nested parentheses": "(" * 20_000 + "a = 1" + ")" * 20_000,
    "50 000 NOTs": "NOT " * 50_000 + "a = 1",
    "an IN list of 50 000 texts": "a IN (" + ",".join(f"'{each}'" for each in range(50_000)) + ")",
    "50 000 ORs": " OR ".join(f"a = {each}" for each in range(50_000)),
    "BETWEEN of numbers of 10 000 digits": f"a BETWEEN {'9' * 10_000} AND {'8' * 10_000}",
    "a text of 1 MB": f"a = '{'x' * 1_000_000}'",
    "unclosed texts": "'" * 100_001,
}


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_expressions_without_bounds_are_refused(attack: Trial, filtered: Site, kind: str) -> None:
    with attack("SQL92", f"10 pulls with {kind}") as attempt:
        ext = sql(EXPRESSIONS[kind])
        answers = ask_each(filtered.broker, [(RequestCode.PULL_MESSAGE, ext, b"")] * 10)
        assert not answers.counts["code 0"], str(answers)
        attempt.outcome = str(answers)


def test_number_of_expressions_is_bounded(attack: Trial, filtered: Site) -> None:
    with attack("SQL92", "150 pulls with expressions of 1 KB, each another one") as attempt:
        answers = ask_each(
            filtered.broker,
            [
                (RequestCode.PULL_MESSAGE, sql(f"a = {number} OR b = '{'x' * 1_000}'"), b"")
                for number in range(150)
            ],
        )
        attempt.outcome = str(answers)


def test_waiting_filters_do_not_multiply_arrivals(attack: Trial, filtered: Site) -> None:
    expression = " OR ".join(f"p CONTAINS 'b{number}'" for number in range(60))
    what = "300 waiting pulls with 60 CONTAINS each, while 50 messages of 30 KB arrive"
    with attack("SQL92", what) as attempt, Connections() as held:
        peers = [Peer(filtered.broker) for _ in range(10)]
        held.streams += [peer.stream for peer in peers]
        for number in range(300):
            ext = {**sql(expression, "waiting-filterers"), "queueOffset": str(MESSAGES)}
            ext |= {"sysFlag": "6", "suspendTimeoutMillis": "15000"}
            peers[number % 10].send(RequestCode.PULL_MESSAGE, ext)
        message = requests.send(TOPIC, requests.properties(p=PROPERTY))
        answers = ask_each(filtered.broker, [(RequestCode.SEND_MESSAGE_V2, message, b"x")] * 50)
        time.sleep(1.0)
        attempt.outcome = f"sends: {answers}"


def test_tag_lists_are_bounded(attack: Trial, filtered: Site) -> None:
    tags = " || ".join(f"tag{number}" for number in range(50_000))
    with attack("filters", "20 pulls with 50 000 tags") as attempt:
        ext = requests.pull(TOPIC, "taggers", expression=tags)
        answers = ask_each(filtered.broker, [(RequestCode.PULL_MESSAGE, ext, b"")] * 20)
        attempt.outcome = str(answers)
