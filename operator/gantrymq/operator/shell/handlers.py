"""Runs kopf, which watches BrokerClusters and reports that one changed. It decides nothing.

kopf runs in a thread with its own event loop, because it takes over the signals and, when it ends,
the tasks of the loop that it runs in. It writes nothing: with `on.event` handlers only, it sets no
finalizers and no annotations, and posts no Events.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, final

import aiohttp
import kopf

from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.api_config import ApiConfig
from gantrymq.operator.kube.client import REQUEST_SECONDS
from gantrymq.operator.resources.names import GROUP, VERSION
from gantrymq.runtime.logs import Log

STOP_SECONDS: Final = 2.0
# How long to wait before watching a forbidden namespace again. The list once a minute continues.
FORBIDDEN_SECONDS: Final = 30.0
_FORBIDDEN: Final = 403
CONNECTIONS_MAX: Final = 8

Seen = Callable[[str, str], None]
"""Called with namespace and name of a BrokerCluster that appeared, changed or disappeared."""


def settings() -> kopf.OperatorSettings:
    """Return kopf's settings; its defaults are for operators that use kopf for everything."""
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.peering.standalone = True
    # kopf looks the kinds up once. The process waits for them before it starts kopf.
    chosen.scanning.disabled = True
    chosen.networking.request_timeout = REQUEST_SECONDS
    chosen.networking.connect_timeout = 5.0
    chosen.networking.error_backoffs = (1, 2, 5, 10)
    chosen.networking.enforce_retry_after = True
    chosen.watching.connect_timeout = 5.0
    chosen.watching.server_timeout = 290
    chosen.watching.inactivity_timeout = 75.0
    chosen.watching.reconnect_backoff = 1.0
    chosen.watching.chunk_size = 250
    chosen.queueing.worker_limit = 8
    chosen.queueing.idle_timeout = 1.0
    chosen.queueing.exit_timeout = 0.5
    chosen.process.ultimate_exiting_timeout = None
    return chosen


def registry(config: ApiConfig, seen: Seen) -> kopf.OperatorRegistry:
    """Return the handlers: one logs in, one calls `seen`."""
    handlers = kopf.OperatorRegistry()
    changes = Changes()

    # Any: kopf passes more keywords to each handler than it uses.
    @kopf.on.login(registry=handlers)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(server=config.url, aiohttp_session=_session(config))

    @kopf.on.event(GROUP, VERSION, kinds.BROKER_CLUSTER.plural, registry=handlers)
    async def changed(event: Any, namespace: str | None, name: str, **_: Any) -> None:
        if changes.is_one(event["type"], event["object"]):
            seen(namespace or "", name)

    return handlers


@final
class Changes:
    """Filters events out that only report a write of the status, mostly the operator's own."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[object, ...]] = {}
        """By uid: the metadata whose change counts."""

    def is_one(self, kind: str | None, resource: Mapping[str, Any]) -> bool:
        """Whether the event reports a change outside of the status; `kind` is None in a list."""
        metadata = resource["metadata"]
        uid = metadata["uid"]
        if kind == "DELETED":
            self._seen.pop(uid, None)
            return True
        names = ("generation", "deletionTimestamp", "finalizers", "labels", "annotations")
        now = tuple(metadata.get(name) for name in names)
        if self._seen.get(uid) == now:
            return False
        self._seen[uid] = now
        return True


def _session(config: ApiConfig) -> aiohttp.ClientSession:
    async def authorize(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Add the current token, which the kubelet replaces while the process runs."""
        if config.token is not None:
            request.headers["Authorization"] = f"Bearer {config.token()}"
        return await handler(request)

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX, ssl=config.tls or True),
        middlewares=(authorize,),
    )


def _is_worth_saying(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("OS signals are ignored")


@final
class KopfThread:
    """Owns the thread in which kopf runs for one namespace, or for all. Call `start`, then `stop`.

    Each namespace has its own kopf, because kopf ends when a namespace cannot be read. A namespace
    that is deleted cannot, because the operator's rights in it are deleted too.
    """

    def __init__(
        self,
        config: ApiConfig,
        namespace: str,
        seen: Seen,
        ended: Callable[[str], None],
    ) -> None:
        """`namespace` is empty for all namespaces. `seen` and `ended` are called on the event loop
        that creates this object. `ended` gets the reason if kopf ends without being stopped."""
        self._config = config
        self._ended = ended
        self._log = Log("operator.kopf")
        self._loop = asyncio.get_running_loop()
        self._namespace = namespace
        self._seen = seen
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"kopf {namespace}", daemon=True)

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        # kopf logs each of its internal steps; failures are warnings and errors.
        logging.getLogger("kopf").setLevel(logging.WARNING)
        # It warns at each start that it does not handle signals here, which is intended.
        logging.getLogger("kopf._core.reactor.running").addFilter(_is_worth_saying)
        self._thread.start()

    async def stop(self) -> None:
        """End kopf. A thread that does not end in time ends with the process."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, STOP_SECONDS)

    def _run(self) -> None:
        why = "it ended by itself"
        try:
            while self._was_forbidden():
                self._stop.wait(FORBIDDEN_SECONDS)
        except Exception as error:  # any failure of kopf ends the process, with the reason
            why = f"{type(error).__name__}: {error}"
            self._log.error("kopf failed", cause=error)
        if not self._stop.is_set():
            self._loop.call_soon_threadsafe(self._ended, why)

    def _was_forbidden(self) -> bool:
        """Run kopf until it ends; return whether it ended because its namespace is forbidden."""
        try:
            asyncio.run(self._operate())
        except Exception as error:
            if not self._namespace or getattr(error, "status", 0) != _FORBIDDEN:
                raise
            self._log.debug("cannot watch", namespace=self._namespace, cause=error)
            return not self._stop.is_set()
        return False

    async def _operate(self) -> None:
        await kopf.operator(
            registry=registry(self._config, self._tell),
            settings=settings(),
            standalone=True,
            clusterwide=not self._namespace,
            namespaces=[self._namespace] if self._namespace else [],
            stop_flag=self._stop,
        )

    def _tell(self, namespace: str, name: str) -> None:
        self._loop.call_soon_threadsafe(self._seen, namespace, name)
