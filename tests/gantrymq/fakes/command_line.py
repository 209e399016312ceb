"""Runs command lines of `gantry` against a cluster in virtual time.

printed(cluster, "topicStatus -t T")     the words of each line
page_of(cluster, "topicStatus -t T")     the page itself
"""

from __future__ import annotations

import shlex

from gantrymq.cli import catalog
from gantrymq.cli.catalog import load
from gantrymq.cli.frame.arguments import CommandLine, parse
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.page import Page
from gantrymq.fakes.brokers.cluster import Cluster


def parsed(line: str) -> CommandLine:
    name, words = catalog.split(shlex.split(line))
    entry = catalog.find(name)
    assert entry is not None
    made = parse(load(entry), entry.about, words)
    assert isinstance(made, CommandLine), line
    return made


def page_of(cluster: Cluster, line: str) -> Page:
    entry = catalog.find(catalog.split(shlex.split(line))[0])
    assert entry is not None
    command = load(entry)
    assert isinstance(command, Command), f"{line} makes no page"
    return cluster.run(command.run(cluster.admin, parsed(line).options))


def printed(cluster: Cluster, line: str) -> list[list[str]]:
    """Return the words of each line. `{broker}` in the command line becomes a broker's address."""
    shown = page_of(cluster, line.format(broker=cluster.addresses[0]))
    assert shown.failures == []
    return [text.split() for text in shown.text().splitlines() if text.strip()]
