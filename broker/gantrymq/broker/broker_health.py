"""Serves a broker's health and metrics by HTTP, and pushes its metrics if the settings say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from gantrymq.base.group_secret import SECRETS_PATH
from gantrymq.broker.configuration import Setup
from gantrymq.broker.metrics_pages import MetricsPages
from gantrymq.broker.metrics_push import exporter
from gantrymq.metrics.samples import Source
from gantrymq.metrics.tables import exporter4
from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.otlp import OtlpExporter
from gantrymq.runtime.logs import Log
from gantrymq.runtime.pulse import Pulse
from gantrymq.runtime.security.bearer_token import token_file


@final
class BrokerHealth:
    """The health server and the exporter of one broker. Its host calls `start`, then `stop`."""

    __slots__ = ("_exporter", "_log", "_pages", "_pulse", "_server", "_setup", "_unready")

    def __init__(
        self,
        setup: Setup,
        pages: MetricsPages,
        pulse: Pulse,
        log: Log,
        unready: Callable[[], str | None],
    ) -> None:
        """`unready` says why the broker is not ready; None if it is."""
        self._setup = setup
        self._pages = pages
        self._pulse = pulse
        self._log = log
        self._unready = unready
        self._server: HealthServer | None = None
        self._exporter: OtlpExporter | None = None

    async def start(self, sources: Sequence[Source]) -> None:
        """Start the HTTP server of health and metrics, and the exporter if metrics are pushed."""
        settings = self._setup.settings
        metrics = self._pages.own([*sources])
        self._exporter = exporter(settings, metrics)
        if self._exporter is not None:
            self._exporter.start()
        if settings.metrics_port == 0:
            return
        readiness = Readiness()
        readiness.add("broker", self._unready)
        secret_file = self._setup.links.secret_file
        pages = {} if secret_file is None else {SECRETS_PATH: secret_file.report}
        self._server = HealthServer(
            metrics,
            readiness,
            pages,
            pulse=self._pulse,
            token=token_file(settings.metrics_token_file, self._log.warning),
            more_metrics={exporter4.TABLE.path: self._pages.exporter()},
        )
        await self._server.start(
            settings.metrics_bind_address or settings.bind_address, settings.metrics_port
        )

    async def stop(self) -> None:
        """Stop both; does nothing for what was not started."""
        if self._exporter is not None:
            await self._exporter.stop()
        if self._server is not None:
            await self._server.stop()
