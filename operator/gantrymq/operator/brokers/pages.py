"""Gets pages from the metrics port of brokers, such as readiness and known secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import aiohttp

from gantrymq.operator.plan.objects.names import BROKER_METRICS_PORT
from gantrymq.runtime.logs import Log

# A broker answers within a second, even while its event loop is busy. A pod that is gone does not
# answer at all.
ASK_SECONDS: Final = 1.5
# Enough for a handful of reasons of some hundred characters.
ANSWER_BYTES_MAX: Final = 4096


@final
@dataclass(frozen=True, slots=True)
class Page:
    """An answer, cut after ANSWER_BYTES_MAX bytes."""

    status: int
    text: str


@final
class BrokerPages:
    """Owns the HTTP connections to brokers. Call `start` before use, and `close` at the end."""

    def __init__(self, port: int = BROKER_METRICS_PORT) -> None:
        self._log = Log("operator.brokers")
        self._port = port
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        timeout = aiohttp.ClientTimeout(total=ASK_SECONDS)
        connector = aiohttp.TCPConnector(force_close=True)  # the server ends each connection
        self._session = aiohttp.ClientSession(timeout=timeout, connector=connector)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, ip: str, path: str) -> Page | None:
        """Get a page of the broker in the pod with this address; None if it does not answer."""
        assert self._session is not None
        host = f"[{ip}]" if ":" in ip else ip
        url = f"http://{host}:{self._port}{path}"
        try:
            async with self._session.get(url, allow_redirects=False) as answer:
                body = await answer.content.read(ANSWER_BYTES_MAX)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self._log.debug("broker does not answer", address=url, cause=error)
            return None
        return Page(answer.status, body.decode(errors="replace"))
