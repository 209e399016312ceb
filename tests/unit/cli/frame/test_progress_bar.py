"""Tests when progress bars appear, and what they show."""

from __future__ import annotations

import io

from gantrymq.cli.frame.progress_bar import ProgressBar
from gantrymq.client.core.admin.asking import on_each
from gantrymq.fakes.brokers.cluster import Cluster, gone


class Watch:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_short_work_shows_no_bar() -> None:
    terminal, watch = io.StringIO(), Watch()
    bar = ProgressBar(terminal, watch)
    bar.begin(10)
    for _ in range(10):
        watch.now += 0.04
        bar.advance()
    bar.end()
    assert terminal.getvalue() == ""


def test_bar_of_long_work_appears_and_disappears() -> None:
    terminal, watch = io.StringIO(), Watch()
    bar = ProgressBar(terminal, watch)
    bar.begin(4)
    for _ in range(2):
        watch.now += 1.0
        bar.advance()
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown[1].strip().startswith("25%  [##########....")
    assert shown[2].endswith("2/4")
    bar.end()
    assert terminal.getvalue().endswith("2/4\r\x1b[K")


def test_work_without_a_known_end_shows_a_count() -> None:
    terminal, watch = io.StringIO(), Watch()
    bar = ProgressBar(terminal, watch)
    bar.begin(0)
    watch.now = 1.0
    bar.advance(1234)
    assert terminal.getvalue().endswith("1234")


def test_bar_is_drawn_ten_times_a_second_at_most() -> None:
    terminal, watch = io.StringIO(), Watch()
    bar = ProgressBar(terminal, watch)
    bar.begin(1_000)
    watch.now = 1.0
    for _ in range(1_000):
        bar.advance()
    assert terminal.getvalue().count("/1000") == 1


class Pace:
    """A Pace that records its calls."""

    def __init__(self) -> None:
        self.heard: list[int | str] = []

    def begin(self, parts: int) -> None:
        self.heard.append(parts)

    def advance(self, parts: int = 1) -> None:
        self.heard.append("one")

    def end(self) -> None:
        self.heard.append("end")


def test_requests_to_several_servers_report_progress() -> None:
    cluster = Cluster("broker-a", "broker-b", "broker-c", topics={})
    cluster.faults[cluster.addresses[1]] = gone
    pace = Pace()
    cluster.run(on_each(cluster.addresses, cluster.admin.brokers.figures, pace))
    assert pace.heard == [3, "one", "one", "one", "end"]


def test_long_work_of_the_admin_api_reports_progress() -> None:
    cluster = Cluster(topics={"T": 1})
    pace = Pace()
    admin = cluster.admin
    admin.pace = pace
    cluster.run(admin.topics.delete("T", cluster.addresses))
    assert pace.heard == [1, "one", "end"]
