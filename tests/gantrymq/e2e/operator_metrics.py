"""Reads the metrics of the operator that leads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self, final

from gantrymq.e2e.kubectl import run
from gantrymq.e2e.operator_install import Operator

PORT: Final = 5559


@final
@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """What the leading operator has used and done since it started."""

    memory_mib: int
    processor_seconds: float
    reads: int
    writes: int
    """Requests to the API, the renewals of the operator's own Lease left out."""

    @classmethod
    def of(cls, operator: Operator) -> Self:
        """As of now."""
        lines = _page(operator)

        def total(name: str, label: str = "") -> float:
            values = (line for line in lines if line.startswith(name) and label in line)
            return sum(float(line.rpartition(" ")[2]) for line in values)

        return cls(
            int(total("process_resident_memory_bytes ")) >> 20,
            total("process_cpu_seconds_total "),
            int(total("gantry_operator_api_requests_total", 'verb="GET"')),
            int(total("gantry_operator_api_writes_total")),
        )

    def __sub__(self, before: OperatorFigures) -> OperatorFigures:
        """What came since then; the memory is that of now."""
        return OperatorFigures(
            self.memory_mib,
            self.processor_seconds - before.processor_seconds,
            self.reads - before.reads,
            self.writes - before.writes,
        )


def _page(operator: Operator) -> list[str]:
    pages = []
    for pod in operator.pods():
        path = f"/api/v1/namespaces/{operator.namespace.name}/pods/{pod['metadata']['name']}"
        pages.append(run("get", "--raw", f"{path}:{PORT}/proxy/metrics"))
    leading = [page for page in pages if "gantry_operator_leader 1.0" in page]
    assert len(leading) == 1, "one operator leads"
    return leading[0].splitlines()
