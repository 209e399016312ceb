"""Lists all scenarios, in the order of the table of clients and features."""

from typing import Final

from gantrymq.interop.clients.scenarios import consuming, finding, later, sending
from gantrymq.interop.clients.scenarios.scenario import Scenario

SCENARIOS: Final[list[Scenario]] = [
    *sending.ROWS,
    *later.ROWS,
    *consuming.ROWS,
    *finding.ROWS,
]
