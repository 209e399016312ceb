"""Writes the summary of the kept figures into docs/benchmarks.md, and draws its charts.

A line of the summary names one row of one kept result. The page shows the medians, so that a reader
can compare them at a glance; bench/results/README.md has the spread and all other rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.chart import Bar, Chart
from bench.report import RESULTS, short

DOCS = RESULTS.parent.parent / "docs"
PAGE = DOCS / "benchmarks.md"
PICTURES = DOCS / "pictures"
BEGIN, END = "<!-- summary: begin -->\n", "<!-- summary: end -->\n"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the summary: words for a reader, and the row that it shows."""

    words: str
    part: str
    row: str
    theirs: str = "Java"
    ours: str = "Gantry"


JSON_SENDS = "load program, JSON: "
SENDS = (
    Line("Java client, 64 threads", "broker-send-shared", "Java client, JSON: sync, 64 threads"),
    Line("64 connections, one send each", "broker-send", f"{JSON_SENDS}64 connections x 1"),
    Line("8 connections, 32 sends each", "broker-send", f"{JSON_SENDS}8 connections x 32"),
    Line("batches of 16", "broker-send", f"{JSON_SENDS}batches of 16, 64 connections x 1"),
)
DURABLE = (
    Line("on disk (fsync)", "broker-flush", "send, 64 wait for the disk, 64 connections x 1"),
    Line("on one slave", "ha-sync", "sends of 1 KiB, 64 clients"),
    Line(
        "elected, on one follower", "ha-sync", "sends of 1 KiB, 64 clients", ours="Gantry elects, 2"
    ),
    Line(
        "elected, on two followers",
        "ha-sync",
        "sends of 1 KiB, 64 clients",
        ours="Gantry elects, 3",
    ),
)
STARTS = (
    Line("empty", "broker-start", "start, empty"),
    Line("10 000 queues", "broker-start", "start, queues: 10000"),
    Line("killed with a log of 2 GiB", "broker-start", "start, killed with 2 GiB"),
)
PUSH = "Java client, JSON: backlog by push"
PULLS = f"{JSON_SENDS}pulls of 32, 64 connections x 1"
ROUTES = "10 000 topics, each on all 50 brokers: JSON, 64 connections x 1"
OWN_SENDS = "64 await each send, 128 B"
ONE_BY_ONE = "append 128 B, 1 queue, groups of 1"
SUMMARY = (
    *(Line(f"send 128 B: {line.words}", line.part, line.row) for line in SENDS),
    *(
        Line(f"send, acknowledged when {line.words}", line.part, line.row, line.theirs, line.ours)
        for line in DURABLE
    ),
    Line("read a backlog, Java push consumer", "broker-read", PUSH),
    Line("read a backlog, 64 connections, 32 messages a pull", "broker-read", PULLS),
    Line("store alone: append 128 B one by one", "store-append", ONE_BY_ONE),
    Line(
        "store alone: append 128 B, 64 in flight",
        "store-append",
        "append 128 B, 64 clients, ours from frames",
    ),
    Line("name server: routes of 50 brokers, 64 connections", "namesrv", ROUTES),
    Line("client library: send and await, 64 tasks or threads", "client", OWN_SENDS),
    Line("client library: consume by push", "client", "a backlog by push, 32 a call"),
    *(Line(f"start a broker: {line.words}", line.part, line.row) for line in STARTS),
    Line("memory of an idle broker (RSS)", "broker-start", "RSS, idle"),
    Line("memory with a log of 2 GiB (PSS)", "broker-start", "PSS, after 2 GiB"),
    Line("a follower catches up", "ha-async", "a follower that was away catches up"),
    Line("Spark reads rows of 1 KiB", "spark", "1 KiB: count, bytes and last offset", "Kafka"),
)
CHARTS = {
    "benchmark-sends": ("Sends of 128 bytes: messages acknowledged per second", SENDS),
    "benchmark-durable": ("Sends that wait for a disk or a replica: messages per second", DURABLE),
    "benchmark-starts": ("Start of a broker: seconds until it answers", STARTS),
}


def write() -> None:
    """Write the summary and its charts."""
    PAGE.write_text(filled(PAGE.read_text()))
    PICTURES.mkdir(exist_ok=True)
    for name, text in charts().items():
        (PICTURES / f"{name}.svg").write_text(text)


def filled(page: str) -> str:
    """The page with the current summary between its marks."""
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{chr(10).join(table())}\n\n{END}{after}"


def table() -> Iterator[str]:
    yield "| what | unit | Gantry | Java | Gantry / Java | machine, used by others |"
    yield "|---|---|---|---|---|---|"
    for line in SUMMARY:
        unit, ours, theirs = _medians(line)
        name = "" if line.theirs == "Java" else f" ({line.theirs})"
        cells = (line.words, unit, short(ours), f"{short(theirs)}{name}", f"{ours / theirs:.2f}x")
        yield f"| {' | '.join(cells)} | {_machine(line.part)} |"


def charts() -> dict[str, str]:
    """The SVG texts by their names."""
    return {name: Chart(title, _bars(lines)).svg() for name, (title, lines) in CHARTS.items()}


def _bars(lines: tuple[Line, ...]) -> tuple[Bar, ...]:
    return tuple(Bar(line.words, *_medians(line)[1:]) for line in lines)


def _medians(line: Line) -> tuple[str, float, float]:
    """The unit, our median and the other's."""
    [row] = [row for row in _kept(line.part)["rows"] if row["what"] == line.row]
    figures = row["figures"]
    return row["unit"], figures[line.ours]["median"], figures[line.theirs]["median"]


def _machine(part: str) -> str:
    facts = _kept(part)["machine"]
    share = facts["taken_by_others"].partition(" ")[0]
    return f"{facts['cpu']}, {facts['cores']} cores, {share}"


def _kept(part: str) -> dict[str, Any]:  # Any: values of JSON
    content: dict[str, Any] = json.loads((RESULTS / f"{part}.json").read_text())
    return content
