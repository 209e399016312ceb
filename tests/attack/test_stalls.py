"""Sends every request code to brokers with large tables: none holds the event loop for long."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from gantrymq.attack.large_state import (
    COMMON,
    EAGER,
    TOPICS,
    WIDE,
    bodies,
    group_name,
    plausible,
    tables,
    write_tables,
)
from gantrymq.attack.peer import Address, Answers, Peer
from gantrymq.attack.report import Row
from gantrymq.attack.site import Site
from gantrymq.attack.trial import MIB, trial
from gantrymq.broker.core.processor.requests import REQUEST_CODES as BROKER_REQUESTS
from gantrymq.namesrv.core.requests import REQUESTS as NAME_SERVER_REQUESTS
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode

# The allowed length of a stall, as a multiple of the time in which this process reads the table of
# topics: the servers share the machine with the clients and with each other.
READINGS_MAX = 2.0

# These read each queue of each group in thousands of pieces, for longer than a client waits.
LONG = frozenset({RequestCode.GET_BROKER_CONSUME_STATS})
# These wait for messages, change the servers' settings, or stop the broker that others query.
LEFT_OUT = LONG | {
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.POP_MESSAGE,
    RequestCode.NOTIFICATION,
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.UPDATE_NAMESRV_CONFIG,
    RequestCode.UNREGISTER_BROKER,
}
LAST = (RequestCode.DELETE_TOPIC_IN_BROKER, RequestCode.DELETE_SUBSCRIPTIONGROUP)
_STALL = re.compile(r'gantry_event_loop_stall(s|_seconds)_total\{work="([^"]+)"\} (\S+)')


@pytest.fixture
def large_site(tmp_path: Path) -> Iterator[Site]:
    """Servers whose broker has large tables from the start."""
    write_tables(tmp_path / "broker" / "store" / "config")
    with Site(tmp_path, settings={"maxPeerMemory": str(1024 * MIB)}) as site:
        yield site


def reading_seconds() -> float:
    """The time in which this process reads a table of TOPICS topics on this machine."""
    content = tables(TOPICS, 1)["topics.json"]
    began = time.perf_counter()
    table = json.loads(content)["topicConfigTable"]
    configs = [TopicConfig.from_json(each) for each in table.values()]
    assert len(configs) > TOPICS
    return time.perf_counter() - began


def mean_stalls(pages: Address) -> Mapping[str, float]:
    """The mean seconds of the stalls of a server, by work."""
    with urllib.request.urlopen(f"http://{pages}/metrics", timeout=60) as page:
        text = page.read().decode()
    figures: dict[str, dict[str, float]] = {}
    for kind, work, value in _STALL.findall(text):
        figures.setdefault(work, {})[kind] = float(value)
    return {work: each["_seconds"] / each["s"] for work, each in figures.items()}


def ask_all(address: Address, codes: Iterable[int]) -> Answers:
    """Send each request twice: about many topics, and about a topic of many queues."""
    answers = Answers()
    for code in codes:
        for topic, group in ((COMMON, EAGER), (WIDE, group_name(0))):
            with Peer(address) as peer:
                try:
                    answers.add(
                        peer.ask(code, plausible(code, topic, group), bodies(code, topic, group))
                    )
                except OSError as error:
                    answers.ended(error)
    return answers


@pytest.mark.timeout(300)  # took 82 to 116 s beside eight other test runs
def test_no_request_code_holds_the_event_loop_for_long(large_site: Site, rows: list[Row]) -> None:
    what = f"every code of both servers, {TOPICS} topics, one of them of 16 384 queues"
    unit = reading_seconds()
    with trial(large_site, rows, "stalls", what) as attempt:
        # The length of stalls is checked below.
        attempt.allows = frozenset({"stall"})
        broker = ask_all(large_site.broker, sorted(set(BROKER_REQUESTS) - LEFT_OUT - set(LAST)))
        names = ask_all(large_site.names, sorted(set(NAME_SERVER_REQUESTS) - LEFT_OUT))
        ask_all(large_site.broker, LAST)
        stalls = {**mean_stalls(large_site.names_pages), **mean_stalls(large_site.broker_pages)}
        longest = max(stalls, key=lambda work: stalls[work], default="nothing")
        seconds = stalls.get(longest, 0.0)
        attempt.outcome = f"longest: {longest}, {seconds / unit:.1f} readings; {broker}; {names}"
    too_long = {work: mean for work, mean in stalls.items() if mean > READINGS_MAX * unit}
    too_long.pop("not running", None)
    assert not too_long, f"longer than {READINGS_MAX:g} readings of {unit:.2f} s"
