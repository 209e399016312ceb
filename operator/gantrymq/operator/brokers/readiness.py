"""Asks brokers that are not ready for the reason, at the path that the kubelet probes.

The kubelet drops the text of an answer, so the reason is in no object of the API.
"""

from __future__ import annotations

from typing import Final, final

import aiohttp

from gantrymq.operator.plan.objects.names import BROKER_METRICS_PORT
from gantrymq.runtime.logs import Log

# A broker answers within a second, even while its event loop is held up. A pod that is gone: never.
ASK_SECONDS: Final = 1.5
# A handful of reasons of some hundred characters.
ANSWER_BYTES_MAX: Final = 4096

_NOT_READY: Final = 503
_OF_BROKER: Final = "broker: "


@final
class ReadinessReader:
    """Owner of the connections to brokers; `start` before use, then `close`."""

    def __init__(self, port: int = BROKER_METRICS_PORT) -> None:
        self._log = Log("operator.readiness")
        self._port = port
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        timeout = aiohttp.ClientTimeout(total=ASK_SECONDS)
        connector = aiohttp.TCPConnector(force_close=True)  # the server ends each connection
        self._session = aiohttp.ClientSession(timeout=timeout, connector=connector)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, ip: str) -> str:
        """Why the broker in the pod with this address is not ready; empty where it does not say."""
        assert self._session is not None
        host = f"[{ip}]" if ":" in ip else ip
        url = f"http://{host}:{self._port}/health/ready"
        try:
            async with self._session.get(url, allow_redirects=False) as answer:
                if answer.status != _NOT_READY:
                    return ""
                body = await answer.content.read(ANSWER_BYTES_MAX)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self._log.debug("broker does not answer", address=url, cause=error)
            return ""
        return reasons(body.decode(errors="replace"))


def reasons(text: str) -> str:
    """The reasons in an answer: its first line says only that there are some."""
    lines = [line.strip().removeprefix(_OF_BROKER) for line in text.splitlines()[1:]]
    return "; ".join(line for line in lines if line)
