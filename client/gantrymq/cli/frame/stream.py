"""Gives a stream command its environment: clients, clock, standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame.command import PRODUCER_GROUP
from gantrymq.cli.frame.line_input import LineInput, LineSource
from gantrymq.cli.frame.line_output import DescriptorOutput, LineOutput
from gantrymq.client.aio.admin import Admin
from gantrymq.client.aio.machinery.environment import REAL, Environment
from gantrymq.client.aio.producer import Producer
from gantrymq.client.core.pace import SILENT, Pace

WAITING_BYTES_MAX: Final = 8 << 20
"""The limit of messages that no broker has acknowledged. At the limit, reading the input pauses."""

if TYPE_CHECKING:
    from gantrymq.client.aio.machinery.configuration import ClientKeywords


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


@dataclass(slots=True)
class Stream:
    """The environment of one stream command. Tests replace its clients, lines and time."""

    keywords: ClientKeywords
    timeout_s: float = 5.0
    form: str = "table"
    environment: Environment = REAL
    source: LineSource = field(default_factory=LineInput)
    output: LineOutput = field(default_factory=DescriptorOutput)
    pace: Pace = SILENT
    say: Callable[[str], None] = _say
    """Writes a line for people to standard error, apart from the output."""

    def admin(self) -> Admin:
        return Admin(timeout_s=self.timeout_s, environment=self.environment, **self.keywords)

    def producer(self, waiting_bytes_max: int = WAITING_BYTES_MAX) -> Producer:
        return Producer(
            PRODUCER_GROUP,
            environment=self.environment,
            send_timeout_s=self.timeout_s,
            waiting_bytes_max=waiting_bytes_max,
            **self.keywords,
        )

    def now(self) -> float:
        return self.environment.clock.monotonic()

    async def sleep_until(self, moment: float) -> None:
        woken = asyncio.Event()
        timer = self.environment.call_at(moment, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()
