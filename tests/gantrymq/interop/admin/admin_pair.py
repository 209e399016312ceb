"""Runs one mqadmin against both brokers, and compares its outputs."""

import re
from collections.abc import Sequence
from difflib import unified_diff
from itertools import zip_longest

from gantrymq.interop.admin.admin_sides import AdminSide
from gantrymq.interop.clients.drivers import MqAdmin

# mqadmin printed this: its connection was lost before the request was sent.
NEVER_ASKED = "RemotingSendRequestException: send request to"


class Pair:
    """One mqadmin, run against both brokers."""

    def __init__(self, admin: MqAdmin, sides: tuple[AdminSide, AdminSide]) -> None:
        self.admin = admin
        self.sides = sides
        self.is_of_5 = admin.version.startswith("5")

    def outputs(self, command: str) -> list[str]:
        """What mqadmin prints about Java's broker, and about the other one."""
        reference, subject = self.sides
        told = self._output(reference, command)
        if NEVER_ASKED in told:  # happens at times on a busy machine, also with Java's own server
            told = self._output(reference, command)
        return [told, self._output(subject, command)]

    def _output(self, side: AdminSide, command: str) -> str:
        words = (word.format(**side.places) for word in command.split())
        return side.without_place(self.admin.run(side.server, *words))

    def same(self, command: str) -> list[str]:
        """Assert that both outputs have the same lines; returns them."""
        reference, subject = map(lines, self.outputs(command))
        pairs = zip_longest(subject, reference, fillvalue="")
        _assert_same([_as_java(line, java) for line, java in pairs], reference)
        return reference

    def same_but_figures(self, command: str) -> list[str]:
        """The same, except for numbers, which are current rates and times."""
        reference, subject = (
            [_without_figures(line) for line in lines(output)] for output in self.outputs(command)
        )
        _assert_same(subject, reference)
        return reference

    def prepare(self, name: str, offset: int = 4) -> tuple[str, str]:
        """Create a topic with ten messages, and a group that has consumed some; returns their
        names."""
        topic, group = f"{name}-{self.admin.version[0]}", f"{name}Group-{self.admin.version[0]}"
        for side in self.sides:
            side.prepare(topic, group, offset)
        return topic, group


def lines(output: str) -> list[str]:
    """The lines that are not empty."""
    return [line for line in output.splitlines() if line.strip()]


def _assert_same(subject: Sequence[str], reference: Sequence[str]) -> None:
    difference = unified_diff(reference, subject, "Java's", "ours", lineterm="", n=0)
    assert subject == reference, "\n".join(difference)


def _as_java(line: str, java: str) -> str:
    """Java's line, if Gantry's line is the same, or the same remark with more text after it."""
    told, _, _ = java.partition(" BROKER: ")
    return java if "  DESC: " in java and line.startswith(told.rstrip()) else line


def _without_figures(line: str) -> str:
    return re.sub(r" +", " ", re.sub(r"-?\b\d+(\.\d+)?(E-?\d+)?(?=\D|$)", "<n>", line))
