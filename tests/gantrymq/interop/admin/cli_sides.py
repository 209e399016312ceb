"""Runs mqadmin and `gantry` with the same command on the same servers, and compares the output."""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gantrymq.interop.admin.admin_sides import AdminSide
from gantrymq.interop.clients.drivers import MqAdmin

SECONDS = 60
_GANTRY: Final = Path(sys.executable).with_name("gantry")

# The lines that mqadmin prints and gantry does not, and why.
_LEFT_OUT: Final = re.compile(
    r"^The old\w* \d+ message .*"  # repeats the question
    r"|^Message Body Path: .*|^Message Body: .*"  # mqadmin writes files, gantry shows bodies
    r"|^See https://.*|^For more information, .*"
    r"|^MessageTrack \[consumerGroup=AdminTopic, .*"  # a topic that Java's broker takes for a group
)
# Java's client adds these to pulled messages; they are not properties of the message.
_ADDED: Final = re.compile(r"(MIN|MAX)_OFFSET=\d+(, )?|, (MIN|MAX)_OFFSET=\d+(?=\})")
_REFUSAL: Final = re.compile(
    r"CODE: (\d+)  DESC: (.*?)(?= BROKER: |  \(from |[.:] |$)", re.MULTILINE
)

# mqadmin's text when it received no answer: it closed its own connection, or the broker on a busy
# machine answered after mqadmin's timeout.
_NOT_ANSWERED: Final = re.compile(
    r"query message by key finished, but no message"
    r"|Invoke Broker\[.*\] exception"
    r"|RemotingTimeoutException|RemotingConnectException|RemotingSendRequestException"
)
_ATTEMPTS_MAX: Final = 3
"""An outage that lasts longer is the broker's fault and not caused by load."""

# Figures of the last minute, which differ with the time of the request.
_RATE: Final = re.compile(r" +\d+\.\d\d\b")

# Lines that Java prints in the order of a hash table.
UNORDERED: Final = (
    *("printMsg", "consumeMessage", "resetOffsetByTime", "skipAccumulatedMessage"),
    *("getBrokerConfig", "getNamesrvConfig", "statsAll", "topicList", "consumerProgress"),
    *("producer ", "topicRoute", "queryMsg"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What gantry printed, and its exit code."""

    text: str
    exit_code: int


def gantry(side: AdminSide, command: str) -> Outcome:
    """Run a gantry command with the side's values for names in braces."""
    words = [word.format(**side.places) for word in command.split()]
    ran = subprocess.run(
        [_GANTRY, *words, "-n", side.server.address],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Outcome(ran.stdout + ran.stderr, ran.returncode)


def mqadmin(admin: MqAdmin, side: AdminSide, command: str) -> str:
    """Run an mqadmin command with the side's values; run it again while mqadmin receives no
    answer."""
    words = [word.format(**side.places) for word in command.split()]
    for _ in range(_ATTEMPTS_MAX - 1):
        text = admin.run(side.server, *words)
        if not _NOT_ANSWERED.search(text):
            return text
    return admin.run(side.server, *words)


def refusal(text: str) -> tuple[str, str] | None:
    """The code and remark of a refusal; None if there is none."""
    found = _REFUSAL.search(text)
    return None if found is None else (found[1], found[2].rstrip("."))


def lines(side: AdminSide, command: str, text: str) -> Sequence[str]:
    """The lines that both must print; sorted where they have no order."""
    plain = _ADDED.sub("", side.without_place(text)).replace(", }", "}")
    # mqadmin prints two tracks on one line by mistake.
    plain = re.sub(r"\](MessageTrack )", r"]\n\1", plain)
    plain = re.sub(r"(Topic Put TPS: ).*", r"\1<n>", plain)
    if command.startswith("statsAll"):
        plain = _RATE.sub(" <n>", plain)
    kept = [
        line.rstrip() for line in plain.splitlines() if line.strip() and not _LEFT_OUT.match(line)
    ]
    return sorted(kept) if command.startswith(UNORDERED) else kept
