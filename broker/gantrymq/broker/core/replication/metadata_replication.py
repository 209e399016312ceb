"""Replicates the metadata tables from an elected master to its followers, along with the log.

    topics, groups, modes, filters, quotas, accounts, users, locks
                                                         apply when they are taken
    consumption, delays, timers                          log end 8 | content: progress; applies once
                                                         this disk has the log up to that end
    consumption = size 4 | in-flight messages of pops | size 4 | initial offsets of the next pops |
                  offsets of groups; a snapshot of one moment, because the parts depend on each
                  other

A table is replaced as a whole, never merged. Of the progress tables that wait for the log, the
first and the last are kept, so that one of them applies eventually, however far the log is behind.

    {"missing":["delays"]}                               config/missingTables.json

A member's progress tables are worthless after its log was truncated or begins anew. It must take
them from a master again before it may become master. The file keeps that over restarts.

A new master applies at once all tables that its log covers, including those being saved, because
consumers ask it from then on. Only the file of offsets is not written before the file of in-flight
messages.

Invariant: no progress file on this disk marks a message as processed before this disk has the part
of the log that the progress depends on. The next master continues from these files, and must not
skip messages whose outcome its log does not contain.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, final

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Rules
from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Channel, File
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.replication import consumption_table
from gantrymq.broker.core.replication.consumption_table import CONSUMPTION, Offsets
from gantrymq.broker.core.schedule.delays import DelayService
from gantrymq.broker.core.schedule.timer_service import TimerService
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, list_of, object_of, text_of

# Between two checks of how far the log is on disk.
LOOK_SECONDS: Final = 0.05

# Before a retry after a table could not be written.
AGAIN_SECONDS: Final = 1.0


TOPICS: Final = "topics"
GROUPS: Final = "groups"
MODES: Final = "modes"
FILTERS: Final = "filters"
ACCOUNTS: Final = "accounts"
USERS: Final = "users"
LOCKS: Final = "locks"
QUOTAS: Final = "quotas"
DELAYS: Final = "delays"
TIMERS: Final = "timers"

PROGRESS: Final = frozenset({CONSUMPTION, DELAYS, TIMERS})
_FILES: Final = {
    TOPICS: File.TOPICS,
    GROUPS: File.GROUPS,
    MODES: File.MODES,
    FILTERS: File.FILTERS,
    ACCOUNTS: File.ACL,
    QUOTAS: File.QUOTAS,
    USERS: File.USERS,
}
_END: Final = struct.Struct(">q")


@final
class MetadataReplication:
    """The replicated tables of one broker. A master's are read; a follower's are replaced."""

    __slots__ = (
        "_coming",
        "_delay_service",
        "_given",
        "_look_at",
        "_pops",
        "_state",
        "_timer_service",
        "_unstored",
        "_waiting",
        "missing",
    )

    def __init__(
        self, state: State, pops: Pops, delay_service: DelayService, timer_service: TimerService
    ) -> None:
        self._delay_service = delay_service
        self._pops = pops
        self._timer_service = timer_service
        self._coming: Offsets | None = None
        """Offsets that apply once the file of in-flight messages is on disk."""
        self._given: dict[str, tuple[bytes, bytes]] = {}
        self._look_at = NEVER
        self._state = state
        self._unstored: dict[str, object] = {}
        """The tables taken and not on disk yet: by name, a token of the last time it was taken."""
        self._waiting: dict[str, list[tuple[int, bytes]]] = {}
        self.missing: frozenset[str] = frozenset()
        """The tables that must be taken before this broker may become master."""
        state.files.keep(File.MISSING, self.content)

    # ------------------------------------------------------------------ on the master

    def tables(self) -> Mapping[str, bytes]:
        """The current content of all tables, by name."""
        state = self._state
        tables = {
            TOPICS: state.topics.content(),
            GROUPS: state.groups.content(),
            MODES: state.request_modes.content(),
            FILTERS: state.filters.content(),
            QUOTAS: state.quotas.content(),
        }
        if state.settings.acl_enable and not state.settings.acl_file_read_only:
            tables[ACCOUNTS] = state.access.content()
        if state.access.users is not None:
            tables[USERS] = state.access.users.content()
        tables[LOCKS] = state.locks.table(state.now)
        tables[CONSUMPTION] = self._with_end(CONSUMPTION, self._consumption())
        tables[DELAYS] = self._with_end(DELAYS, self._delay_service.table())
        tables[TIMERS] = self._with_end(TIMERS, self._timer_service.progress.table())
        return tables

    def _consumption(self) -> bytes:
        state = self._state
        positions = state.in_flight.positions()
        return consumption_table.encode(self._pops.content(), positions, state.offsets.content())

    def _with_end(self, name: str, content: bytes) -> bytes:
        """The content, preceded by the log end of the moment when it last changed. So an unchanged
        table stays equal."""
        known = self._given.get(name)
        if known is None or known[0] != content:
            end = _END.pack(self._state.store.log.end)
            known = self._given[name] = content, end + content
        return known[1]

    # ------------------------------------------------------------------ on a follower

    def accounts_edited(self, rules: Rules) -> None:
        """Apply rules that were edited in their file, unless the master's accounts are about to
        replace the file."""
        if ACCOUNTS not in self._unstored:
            self._state.access.replace(rules)

    def take(self, name: str, content: bytes) -> None:
        """Replace a table by the master's, or keep it until this disk has enough of the log."""
        try:
            if name in PROGRESS:
                self._wait(name, content)
            else:
                self._replace(name, content)
        except (RemoteError, ConfigurationError, ValueError) as error:
            self._state.effects.warning(f"rejected a replicated table table={name}: {error}")

    @property
    def unstored(self) -> AbstractSet[str]:
        """The names of the tables that were taken and are not on this disk. Progress tables are not
        among them, because no administrator waits for a change of progress."""
        return self._unstored.keys()

    def _is_on_disk(self, name: str, content: bytes) -> bool:
        """Whether the table's file already has exactly this content. Then it is not written again,
        so a file that cannot be written does no harm."""
        file, files = _FILES.get(name), self._state.files
        if file is None or name in self._unstored or not files.is_safe(file):
            return False
        return files.contents[file]() == content

    def _replace(self, name: str, content: bytes) -> None:
        """Apply a table that does not depend on the log, and have its file written."""
        state = self._state
        settings = state.settings
        if name == ACCOUNTS and (not settings.acl_enable or settings.acl_file_read_only):
            return
        if name == USERS and state.access.users is None:
            return
        if self._is_on_disk(name, content):
            return
        if name == LOCKS:
            state.locks.take_table(content)
        elif name == ACCOUNTS:
            state.access.overtake(plain_acl.read(content))
            state.files.touch(File.ACL)
        elif name == USERS and state.access.users is not None:
            state.access.users.overtake(content)
            state.files.touch(File.USERS)
        else:
            takes: dict[str, Callable[[bytes], None]] = {
                TOPICS: state.topics.copy,
                GROUPS: state.groups.copy,
                MODES: state.request_modes.copy,
                FILTERS: state.filters.copy,
                QUOTAS: state.quotas.copy,
            }
            take = takes.get(name)
            if take is None:
                return  # a newer version's master may have tables that this version does not know
            take(content)
        if name in _FILES:
            self._store(name)

    def _store(self, name: str) -> None:
        self._unstored[name] = taken = object()
        self._state.task_runner.start_in_role(
            self._stored(name, taken), partial(self._is_stored, name, taken), self._failed
        )

    def _stored(self, name: str, taken: object) -> Task[None]:
        """Write the table's file, with retries, unless a newer table replaces this one."""
        while failure := (yield from tasks.saved(_FILES[name])):
            if self._unstored.get(name) is not taken:
                return
            self._state.effects.warning(
                f"storing a replicated table failed table={name}: {failure}; this member joins the"
                " ISR once it is stored"
            )
            yield from tasks.wait(self._state.now + AGAIN_SECONDS)

    def _is_stored(self, name: str, taken: object, _: object) -> None:
        if self._unstored.get(name) is taken:
            del self._unstored[name]

    def _failed(self, error: Exception) -> None:
        self._state.effects.broken("storing a replicated table raised an exception", error)

    # ------------------------------------------------------------------ progress tables

    def _wait(self, name: str, content: bytes) -> None:
        if len(content) < _END.size:
            raise RemoteError(f"it has {len(content)} bytes")
        (end,) = _END.unpack_from(content)
        waiting = self._waiting.setdefault(name, [])
        del waiting[1:]
        waiting.append((end, content[_END.size :]))
        self._look()

    def settle(self) -> None:
        """Apply all tables that this disk's log covers, and drop the others: this broker becomes
        master."""
        self._look()
        self._settle_consumption()
        self.forget_master()
        self._unstored.clear()
        self._given.clear()

    def forget_master(self) -> None:
        """Drop the tables that wait for the log, because the master changed: they belong to a log
        that may differ from this broker's."""
        self._waiting.clear()
        self._look_at = NEVER

    def _look(self) -> None:
        """Apply the waiting tables that this disk's log covers."""
        state = self._state
        flushed = state.store.queues.log_flushed
        for name, waiting in list(self._waiting.items()):
            while waiting and waiting[0][0] <= flushed:
                self._take_over(name, waiting.pop(0)[1])
            if not waiting:
                del self._waiting[name]
        self._look_at = state.now + LOOK_SECONDS if self._waiting else NEVER
        if any(waiting[0][0] <= state.store.log.end for waiting in self._waiting.values()):
            state.store.flush_soon(state.now)

    def _take_over(self, name: str, content: bytes) -> None:
        state = self._state
        try:
            if name == DELAYS:
                self._delay_service.take_table(content)
            elif name == TIMERS:
                self._timer_service.take_table(content)
            else:
                self._take_consumption(content)
        except (RemoteError, ValueError) as error:
            state.effects.warning(f"rejected a replicated table table={name}: {error}")
        else:
            if name != CONSUMPTION:
                self._has(name)

    def _take_consumption(self, content: bytes) -> None:
        """Apply the in-flight messages at once, and the offsets once the in-flight messages are on
        disk: the offsets are beyond these messages."""
        out, coming = consumption_table.decode(content)
        self._pops.take_table(out)
        self._coming = coming
        self._state.task_runner.start_in_role(self._come_in(coming), lambda _: None, self._failed)

    def _come_in(self, coming: Offsets) -> Task[None]:
        while (yield from tasks.saved(File.POPS)) is not None:
            yield from tasks.wait(self._state.now + AGAIN_SECONDS)
            if self._coming is not coming:
                return  # a later table came, and may already apply
        if self._coming is coming:
            self._coming = None
        self._replace_consumption(coming)

    def _out_is_safe(self) -> Task[None]:
        while (yield from tasks.saved(File.POPS)) is not None:
            yield from tasks.wait(self._state.now + AGAIN_SECONDS)

    def _settle_consumption(self) -> None:
        """Apply the offsets that wait for the in-flight messages now: later they would undo the
        commits of consumers."""
        coming, self._coming = self._coming, None
        if coming is None:
            return
        state = self._state
        state.files.hold(File.OFFSETS, File.POPS)
        state.task_runner.start(
            self._out_is_safe(),
            lambda _: state.files.release(File.OFFSETS, File.POPS),
            self._failed,
        )
        self._replace_consumption(coming)

    def _replace_consumption(self, coming: Offsets) -> None:
        state = self._state
        offsets, places = coming
        try:
            state.offsets.replace(offsets)
        except RemoteError as error:
            state.effects.warning(f"rejected a replicated table table={CONSUMPTION}: {error}")
            return
        for place, offset in places:
            state.offsets.commit(*place, offset)
        self._has(CONSUMPTION)

    # ------------------------------------------------------------------ missing tables

    def lose(self) -> None:
        """Mark the progress tables as missing: they do not match this broker's log any more."""
        self._miss(PROGRESS)

    def lead(self) -> None:
        """Mark no table as missing: this broker is master, and its tables are the valid ones."""
        self._miss(frozenset())

    def _has(self, name: str) -> None:
        if name in self.missing:
            self._miss(self.missing - {name})

    def _miss(self, names: frozenset[str]) -> None:
        if names != self.missing:
            self.missing = names
            self._state.files.touch(File.MISSING)

    def content(self) -> bytes:
        names: list[Json] = [*sorted(self.missing)]
        return javajson.dumps_fastjson({"missing": names})

    def load(self, content: bytes) -> None:
        """Load the content of the file at a start. RemoteError if it is not such a file."""
        bean = object_of(javajson.loads(content, len(content)), "missingTables.json")
        names = list_of(bean.get("missing") or [], "missing")
        self.missing = PROGRESS & {text_of(name, "missing") for name in names}

    # ------------------------------------------------------------------ the service

    def deadline(self) -> float:
        return self._look_at

    def expire(self, now: float) -> None:
        self._look()

    def closed(self, channel: Channel) -> None:
        """Connections do not matter here."""
