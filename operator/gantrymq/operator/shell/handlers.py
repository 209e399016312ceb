"""The kopf shell: watches BrokerClusters and says that one changed; it decides nothing.

kopf runs in a thread with an event loop of its own, since it takes over the signals and, when it
ends, the tasks of the loop it runs in. It writes nothing: with `on.event` handlers alone it puts no
finalizer and no annotation on a resource, and it posts no Events.
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
# How long a namespace that may not be read is left alone; the list once a minute goes on.
FORBIDDEN_SECONDS: Final = 30.0
_FORBIDDEN: Final = 403
CONNECTIONS_MAX: Final = 8

Seen = Callable[[str, str], None]
"""Told the namespace and the name of a BrokerCluster that appeared, changed or vanished."""


def settings() -> kopf.OperatorSettings:
    """Every setting whose default is meant for operators that kopf alone drives."""
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.peering.standalone = True
    # The kinds are looked up once; the process waits for them before kopf starts.
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
    """The handlers: log in, and pass on what was seen."""
    handlers = kopf.OperatorRegistry()
    changes = Changes()

    # Any: kopf gives each handler more keywords than it wants.
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
    """Tells events apart from those of status writes, our own above all."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[object, ...]] = {}
        """By uid: what matters of the resource."""

    def is_one(self, kind: str | None, resource: Mapping[str, Any]) -> bool:
        """Whether the event is of anything but the status; `kind` is None in a list."""
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
        """The token of this moment: the kubelet replaces it while the process runs."""
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
    """Owner of the thread that kopf runs in for one namespace, or all: `start`, then `stop`.

    Each namespace has a kopf of its own, since kopf ends when one namespace cannot be read: when it
    is deleted, the operator's rights in it are gone too.
    """

    def __init__(
        self,
        config: ApiConfig,
        namespace: str,
        seen: Seen,
        ended: Callable[[str], None],
    ) -> None:
        """`namespace` is empty for all of them. `seen` and `ended` are called within the loop
        that makes this object; `ended` is told why kopf ended without being stopped."""
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
        # kopf logs each step of its own machinery; failures come as warnings and errors.
        logging.getLogger("kopf").setLevel(logging.WARNING)
        # It warns at each start that signals are not its own here, as is meant.
        logging.getLogger("kopf._core.reactor.running").addFilter(_is_worth_saying)
        self._thread.start()

    async def stop(self) -> None:
        """End kopf; a thread that does not heed it ends with the process."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, STOP_SECONDS)

    def _run(self) -> None:
        why = "it ended by itself"
        try:
            while self._was_forbidden():
                self._stop.wait(FORBIDDEN_SECONDS)
        except Exception as error:  # whatever ends kopf ends the process, with the reason
            why = f"{type(error).__name__}: {error}"
            self._log.error("kopf failed", cause=error)
        if not self._stop.is_set():
            self._loop.call_soon_threadsafe(self._ended, why)

    def _was_forbidden(self) -> bool:
        """Run kopf until it ends; whether its namespace is one that may not be read now."""
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
