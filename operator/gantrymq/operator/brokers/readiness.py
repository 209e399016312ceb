"""Asks brokers that are not ready for the reason, at the path that the kubelet probes.

The kubelet discards the text of an answer, so no object of the API contains the reason.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.operator.brokers.pages import BrokerPages

PATH: Final = "/health/ready"

_NOT_READY: Final = 503
_OF_BROKER: Final = "broker: "


@final
class ReadinessReader:
    """Asks brokers over the connections of a BrokerPages, which it does not own."""

    def __init__(self, pages: BrokerPages) -> None:
        self._pages = pages

    async def ask(self, ip: str) -> str:
        """Return why the broker in the pod with this address is not ready; empty if unknown."""
        page = await self._pages.get(ip, PATH)
        return reasons(page.text) if page is not None and page.status == _NOT_READY else ""


def reasons(text: str) -> str:
    """Return the reasons in an answer. Its first line says only that there are some."""
    lines = [line.strip().removeprefix(_OF_BROKER) for line in text.splitlines()[1:]]
    return "; ".join(line for line in lines if line)
