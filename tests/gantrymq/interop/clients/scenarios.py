"""All scenarios, in the order of the table."""

from typing import Final

from gantrymq.interop.clients import (
    scenarios_consuming,
    scenarios_finding,
    scenarios_later,
    scenarios_sending,
)
from gantrymq.interop.clients.scenario import Scenario

SCENARIOS: Final[list[Scenario]] = [
    *scenarios_sending.ROWS,
    *scenarios_later.ROWS,
    *scenarios_consuming.ROWS,
    *scenarios_finding.ROWS,
]
