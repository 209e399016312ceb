"""Keeps a sink equal to the API's objects of one kind, by a paged list and then a watch.

A watch that breaks off is resumed from the last version seen, bookmarks included. The reflector
lists again when that version is too old (410), and every 15 minutes in any case, which finds events
that were lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, final

from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import ApiError, ExpiredError, SilentError
from gantrymq.operator.kube.kinds import Kind
from gantrymq.operator.kube.watch.object_store import Name, name_of
from gantrymq.operator.kube.watch.watch_events import WatchEvent, WatchLines
from gantrymq.operator.plan.actions import Json
from gantrymq.runtime.logs import Log

PAGE_OBJECTS: Final = 250
# The API server sends a bookmark about once a minute.
SILENCE_SECONDS: Final = 75.0
# The API server ends watches after 30 to 60 minutes; ours end earlier and spread out.
WATCH_SECONDS: Final = 290.0
RELIST_SECONDS: Final = 900.0
BACKOFF_SECONDS_MIN: Final = 0.5
BACKOFF_SECONDS_MAX: Final = 30.0


class Sink(Protocol):
    """Receives the objects of one reflector."""

    def put(self, item: Json) -> None:
        """Store an object that the API returned: new, changed or unchanged."""

    def remove(self, name: Name) -> None:
        """Remove an object that is gone."""

    def names(self) -> Iterable[Name]:
        """Return the names of all stored objects."""

    def __len__(self) -> int: ...


class RandomSource(Protocol):
    """Randomizes waits, so that the reflectors do not list at the same time."""

    def uniform(self, a: float, b: float) -> float: ...


@final
@dataclass(frozen=True, slots=True)
class Pace:
    """The time limits of a reflector; tests shorten them."""

    silence_seconds: float = SILENCE_SECONDS
    watch_seconds: float = WATCH_SECONDS
    relist_seconds: float = RELIST_SECONDS
    backoff_seconds: float = BACKOFF_SECONDS_MIN


DEFAULT_PACE: Final = Pace()


@final
@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that a reflector lists and watches."""

    kind: Kind
    namespace: str = ""
    """Empty for all namespaces."""
    labels: str = ""
    """A label selector, evaluated by the API server."""

    @property
    def title(self) -> str:
        return f"{self.kind.plural}/{self.namespace}" if self.namespace else self.kind.plural


@final
class Reflector:
    """Fills one sink. `run` continues until it is cancelled."""

    def __init__(
        self,
        client: KubeClient,
        selection: Selection,
        sink: Sink,
        random: RandomSource,
        pace: Pace = DEFAULT_PACE,
    ) -> None:
        self._client = client
        self._clock = asyncio.get_running_loop().time
        self._failures = 0
        self._log = Log("operator.reflector")
        self._pace = pace
        self._random = random
        self._selection = selection
        self._version = ""
        self.is_synced = False
        """Whether the sink has held a complete list."""
        self.last_heard = self._clock()
        """The time of the last data from the API, by the event loop's clock."""
        self.refusal = ""
        """Why the API refuses to list this kind; empty while it does not."""
        self.sink = sink

    @property
    def title(self) -> str:
        return self._selection.title

    async def run(self) -> None:
        while True:
            try:
                self._version = await self._list()
                await self._watch()
            except ExpiredError:
                self._log.debug("watch expired, listing again", kind=self.title)
            except ApiError as error:
                await self._back_off(error)

    # ------------------------------------------------------------------ listing

    async def _list(self) -> str:
        """Make the sink equal to a complete list; return the version of the list."""
        path = self._selection.kind.collection(self._selection.namespace)
        parameters = {"limit": str(PAGE_OBJECTS)} | self._selector()
        names: set[Name] = set()
        while True:
            page = await self._client.get(path, parameters)
            self._hear()
            for item in page.get("items") or ():
                names.add(name_of(item))
                self._take(item)
            metadata = page.get("metadata") or {}
            if not metadata.get("continue"):
                break
            parameters["continue"] = metadata["continue"]
        for gone in sorted(set(self.sink.names()) - names):
            self.sink.remove(gone)
        if not self.is_synced:
            self._log.debug("listed", kind=self.title, objects=len(self.sink))
        if self.refusal:
            self._log.info("allowed to list again", kind=self.title)
        self.is_synced, self.refusal = True, ""
        return str(metadata.get("resourceVersion", ""))

    def _selector(self) -> dict[str, str]:
        return {"labelSelector": self._selection.labels} if self._selection.labels else {}

    # ------------------------------------------------------------------ watching

    async def _watch(self) -> None:
        """Follow the changes since the list, until it is time to list again."""
        relist_at = self._clock() + self._spread(self._pace.relist_seconds)
        while self._clock() < relist_at:
            try:
                await self._follow(relist_at)
                # Do not ask in a tight loop if the server ends watches at once.
                await asyncio.sleep(self._pace.backoff_seconds / 5)
            except ExpiredError:
                raise
            except SilentError:
                # Bookmarks arrive about once a minute, and later if the server is busy: watch
                # again at once.
                self._log.debug("watch is silent, watching again", kind=self.title)
            except ApiError as error:
                await self._back_off(error)

    async def _follow(self, relist_at: float) -> None:
        """Send one watch request, and apply its events."""
        path = self._selection.kind.collection(self._selection.namespace)
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(max(1, int(self._spread(self._pace.watch_seconds)))),
            **self._selector(),
        }
        lines = WatchLines()
        async with self._client.watch(path, parameters, self._pace.silence_seconds) as pieces:
            self._hear()
            async for piece in pieces:
                for event in lines.decode(piece):
                    self._hear()
                    self._apply(event)
                    self._version = event.version or self._version
                if self._clock() >= relist_at:
                    break

    def _apply(self, event: WatchEvent) -> None:
        if event.type in {"ADDED", "MODIFIED"}:
            self._take(event.object)
        elif event.type == "DELETED":
            self.sink.remove(name_of(event.object))

    def _take(self, item: Json) -> None:
        # The items of a list lack apiVersion and kind; those of a watch have them.
        kind = self._selection.kind
        self.sink.put({"apiVersion": kind.api_version, "kind": kind.name, **item})

    # ------------------------------------------------------------------ time

    def _hear(self) -> None:
        self.last_heard = self._clock()
        self._failures = 0

    def _spread(self, seconds: float) -> float:
        return seconds * self._random.uniform(0.8, 1.2)

    async def _back_off(self, error: ApiError) -> None:
        if error.status:
            self.last_heard = self._clock()
        if error.status in {401, 403, 404}:
            self._refuse(str(error))
        exponent = min(self._failures, 10)
        self._failures += 1
        is_worth_saying = self._failures <= 3 and not self.refusal
        log = self._log.warning if is_worth_saying else self._log.debug
        log("cannot reflect", kind=self.title, cause=error)
        seconds = min(BACKOFF_SECONDS_MAX, self._pace.backoff_seconds * 2.0**exponent)
        await asyncio.sleep(self._spread(seconds))

    def _refuse(self, why: str) -> None:
        """Log once, and not at each attempt, that the API refuses to list this kind."""
        if not self.refusal:
            self._log.warning(
                "not allowed to list: grant the operator the right, or remove the namespace from"
                " its list if it was deleted",
                kind=self.title,
                cause=why,
            )
        self.refusal = why
