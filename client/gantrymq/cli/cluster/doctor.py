"""Defines `gantry doctor`: finds what is wrong in a cluster, and says how to fix it.

The exit code is 1 if there is a finding above the level NOTE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.option import Options
from gantrymq.cli.frame.page import Page, Text
from gantrymq.client.core.admin.checkup.checkup import check_up
from gantrymq.client.core.admin.checkup.findings import Finding, Level
from gantrymq.wire.jsonvalue import Json

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration


async def doctor(admin: Administration, options: Options) -> Page:
    del options
    found = await check_up(admin)
    lines = [line for each in found for line in _lines(each)] or ["nothing is wrong"]
    value: list[Json] = [
        {"level": each.level.name, "subject": each.subject, "what": each.what, "fix": each.fix}
        for each in found
    ]
    is_well = all(each.level is Level.NOTE for each in found)
    return Page([Text("findings", lines, value)], is_well=is_well)


def _lines(finding: Finding) -> tuple[str, str]:
    return (
        f"{finding.level.name:<8} {finding.subject}: {finding.what}",
        f"{'':<8} -> {finding.fix}",
    )


COMMANDS: Final = {"doctor": Command("doctor", (), doctor)}
