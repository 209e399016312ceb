"""mqadmin and gantry, asked the same of the same servers, and what their outputs have in common."""

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

# What mqadmin prints and gantry does not, and why.
_LEFT_OUT: Final = re.compile(
    r"^The old\w* \d+ message .*"  # says what was asked
    r"|^Message Body Path: .*|^Message Body: .*"  # mqadmin writes files, gantry shows bodies
    r"|^See https://.*|^For more information, .*"
    r"|^MessageTrack \[consumerGroup=AdminTopic, .*"  # a topic that Java's broker takes for a group
)
# A client of Java's adds them to what it has pulled: they are no properties of the message.
_ADDED: Final = re.compile(r"(MIN|MAX)_OFFSET=\d+(, )?|, (MIN|MAX)_OFFSET=\d+(?=\})")
_REFUSAL: Final = re.compile(
    r"CODE: (\d+)  DESC: (.*?)(?= BROKER: |  \(from |[.:] |$)", re.MULTILINE
)

# mqadmin's words when no answer reached it: it closed its own connection, or the broker of a busy
# machine answered after mqadmin's timeout.
_NOT_ANSWERED: Final = re.compile(
    r"query message by key finished, but no message"
    r"|Invoke Broker\[.*\] exception"
    r"|RemotingTimeoutException|RemotingConnectException|RemotingSendRequestException"
)
_ATTEMPTS_MAX: Final = 3
"""An outage that lasts longer is the broker's fault, not the load's."""

# Of the last minute, when one of both asked.
_RATE: Final = re.compile(r" +\d+\.\d\d\b")

# Lines that Java takes from hash tables.
UNORDERED: Final = (
    *("printMsg", "consumeMessage", "resetOffsetByTime", "skipAccumulatedMessage"),
    *("getBrokerConfig", "getNamesrvConfig", "statsAll", "topicList", "consumerProgress"),
    *("producer ", "topicRoute", "queryMsg"),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What gantry printed, and how it ended."""

    text: str
    exit_code: int


def gantry(side: AdminSide, command: str) -> Outcome:
    """Run a command with a side's places."""
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
    """Run a command with a side's places; run it again while mqadmin received no answer."""
    words = [word.format(**side.places) for word in command.split()]
    for _ in range(_ATTEMPTS_MAX - 1):
        text = admin.run(side.server, *words)
        if not _NOT_ANSWERED.search(text):
            return text
    return admin.run(side.server, *words)


def refusal(text: str) -> tuple[str, str] | None:
    """Code and remark of a refusal, None when there is none."""
    found = _REFUSAL.search(text)
    return None if found is None else (found[1], found[2].rstrip("."))


def lines(side: AdminSide, command: str, text: str) -> Sequence[str]:
    """Those that both must print: in their order, where there is one."""
    plain = _ADDED.sub("", side.without_place(text)).replace(", }", "}")
    # Two tracks on one line are a slip of mqadmin's.
    plain = re.sub(r"\](MessageTrack )", r"]\n\1", plain)
    plain = re.sub(r"(Topic Put TPS: ).*", r"\1<n>", plain)
    if command.startswith("statsAll"):
        plain = _RATE.sub(" <n>", plain)
    kept = [
        line.rstrip() for line in plain.splitlines() if line.strip() and not _LEFT_OUT.match(line)
    ]
    return sorted(kept) if command.startswith(UNORDERED) else kept
