"""Asks brokers that are not ready for the reason, at the path that the kubelet probes.

The kubelet drops the text of an answer, so the reason is in no object of the API.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.operator.brokers.pages import BrokerPages

PATH: Final = "/health/ready"

_NOT_READY: Final = 503
_OF_BROKER: Final = "broker: "


@final
class ReadinessReader:
    """Asks by connections that it does not own."""

    def __init__(self, pages: BrokerPages) -> None:
        self._pages = pages

    async def ask(self, ip: str) -> str:
        """Why the broker in the pod with this address is not ready; empty where it does not say."""
        page = await self._pages.get(ip, PATH)
        return reasons(page.text) if page is not None and page.status == _NOT_READY else ""


def reasons(text: str) -> str:
    """The reasons in an answer: its first line says only that there are some."""
    lines = [line.strip().removeprefix(_OF_BROKER) for line in text.splitlines()[1:]]
    return "; ".join(line for line in lines if line)
