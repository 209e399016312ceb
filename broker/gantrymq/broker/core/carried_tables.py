"""The tables that travel with the log from a master to the members that follow it.

    topics, groups, modes, filters, quotas, accounts, locks
                                                         count when they are taken
    consumption, delays, timers                          log end 8 | content: how far somebody has
                                                         come; they count once this disk has the
                                                         log up to there
    consumption = size 4 | what pops gave out | size 4 | where their next ones begin |
                  offsets of groups; all of one moment, for they belong together

A table is replaced as a whole, never merged. Of those that wait for the log the first and the last
are kept, so that one of them counts sooner or later, however far the log is behind.

    {"missing":["delays"]}                               config/missingTables.json

What a member had of progress is worth nothing when its log was cut, or begins anew: it has to take
that once more before it may lead, however often it is started meanwhile.

Who comes to lead has all at once that its log covers by then, for consumers ask it from then on:
what was on its way in as well. Only the file of offsets waits for that of what is out.

Invariant: a file here says of no message that it is done with while this disk lacks what the log
says about that: whoever leads next goes on from there, and must not skip what it cannot know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, final

from gantrymq.acl import plain_acl
from gantrymq.acl.accounts import Rules
from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.core import steps
from gantrymq.broker.core.messages import Channel, File
from gantrymq.broker.core.pops.checkouts import Place
from gantrymq.broker.core.steps import Steps
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, list_of, long_of, object_of, text_of

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# Between two looks at how far the log is on disk.
LOOK_SECONDS: Final = 0.05

# After the disk refused to store a table.
AGAIN_SECONDS: Final = 1.0

NEVER: Final = float("inf")

TOPICS: Final = "topics"
GROUPS: Final = "groups"
MODES: Final = "modes"
FILTERS: Final = "filters"
ACCOUNTS: Final = "accounts"
USERS: Final = "users"
LOCKS: Final = "locks"
QUOTAS: Final = "quotas"
CONSUMPTION: Final = "consumption"
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
_SIZE: Final = struct.Struct(">I")

_Consumption: TypeAlias = tuple[bytes, list[tuple[Place, int]]]
"""Offsets of groups, and where their next pops begin."""


@final
class CarriedTables:
    """Of one broker: a master's are asked for, a follower's are given."""

    __slots__ = ("_coming", "_given", "_look_at", "_state", "_unstored", "_waiting", "missing")

    def __init__(self, state: State) -> None:
        self._coming: _Consumption | None = None
        """What counts once the file of what is out is safe."""
        self._given: dict[str, tuple[bytes, bytes]] = {}
        self._look_at = NEVER
        self._state = state
        self._unstored: dict[str, object] = {}
        """By name, a mark of when it was taken last."""
        self._waiting: dict[str, list[tuple[int, bytes]]] = {}
        self.missing: frozenset[str] = frozenset()
        """What has to be taken before this broker may lead."""
        state.files.keep(File.MISSING, self.content)

    # ------------------------------------------------------------------ a master's

    def tables(self) -> Mapping[str, bytes]:
        """All of them, as they are now."""
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
        tables[DELAYS] = self._with_end(DELAYS, state.delays.table())
        tables[TIMERS] = self._with_end(TIMERS, state.timers.table())
        return tables

    def _consumption(self) -> bytes:
        pops = self._state.pops
        out, offsets = pops.content(), self._state.offsets.content()
        places: Json = [[*place, offset] for place, offset in pops.checkouts.positions()]
        begins = javajson.dumps_fastjson(places)
        return b"".join((_SIZE.pack(len(out)), out, _SIZE.pack(len(begins)), begins, offsets))

    def _with_end(self, name: str, content: bytes) -> bytes:
        """Where the log ended when this became so: what says nothing new stays as it is."""
        known = self._given.get(name)
        if known is None or known[0] != content:
            end = _END.pack(self._state.store.log.end)
            known = self._given[name] = content, end + content
        return known[1]

    # ------------------------------------------------------------------ a follower's

    def accounts_edited(self, rules: Rules) -> None:
        """By hand in their file; unless that is to be written anew with what a master has."""
        if ACCOUNTS not in self._unstored:
            self._state.access.replace(rules)

    def take(self, name: str, content: bytes) -> None:
        """Be as the master's."""
        try:
            if name in PROGRESS:
                self._wait(name, content)
            else:
                self._replace(name, content)
        except (RemoteError, ConfigurationError, ValueError) as error:
            self._state.effects.warning(f"the master's table of {name} is not taken: {error}")

    @property
    def unstored(self) -> AbstractSet[str]:
        """Which were taken and are not on this disk. How far somebody has come is no change that
        anybody waits for: it is not among them."""
        return self._unstored.keys()

    def _is_on_disk(self, name: str, content: bytes) -> bool:
        """Whether our file holds just this: it may be one that cannot be written."""
        file, files = _FILES.get(name), self._state.files
        if file is None or name in self._unstored or not files.is_safe(file):
            return False
        return files.contents[file]() == content

    def _replace(self, name: str, content: bytes) -> None:
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
                return  # a younger master has more tables than we know
            take(content)
        if name in _FILES:
            self._store(name)

    def _store(self, name: str) -> None:
        self._unstored[name] = taken = object()
        self._state.works.start_in_role(
            self._stored(name, taken), partial(self._is_stored, name, taken), self._broke
        )

    def _stored(self, name: str, taken: object) -> Steps[None]:
        """Until it is, or another one has come that is stored in its place."""
        while failure := (yield from steps.saved(_FILES[name])):
            if self._unstored.get(name) is not taken:
                return
            self._state.effects.warning(
                f"the master's table of {name} cannot be stored, and this member is not taken into"
                f" the in-sync set before it is: {failure}"
            )
            yield from steps.wait(self._state.now + AGAIN_SECONDS)

    def _is_stored(self, name: str, taken: object, _: object) -> None:
        if self._unstored.get(name) is taken:
            del self._unstored[name]

    def _broke(self, error: Exception) -> None:
        self._state.effects.broken("a table of the master's could not be stored", error)

    # ------------------------------------------------------------------ those that wait

    def _wait(self, name: str, content: bytes) -> None:
        if len(content) < _END.size:
            raise RemoteError(f"it has {len(content)} bytes")
        (end,) = _END.unpack_from(content)
        waiting = self._waiting.setdefault(name, [])
        del waiting[1:]
        waiting.append((end, content[_END.size :]))
        self._look()

    def settle(self) -> None:
        """We come to lead: what this disk's log covers counts, and nothing else will."""
        self._look()
        self._settle_consumption()
        self.forget_master()
        self._unstored.clear()
        self._given.clear()

    def forget_master(self) -> None:
        """Another one is master: what waits is of a log that may not be ours."""
        self._waiting.clear()
        self._look_at = NEVER

    def _look(self) -> None:
        """Take over those that this disk's log covers."""
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
                state.delays.take_table(content)
            elif name == TIMERS:
                state.timers.take_table(content)
            else:
                self._take_consumption(content)
        except (RemoteError, ValueError) as error:
            state.effects.warning(f"the master's table of {name} is not taken: {error}")
        else:
            if name != CONSUMPTION:
                self._has(name)

    def _take_consumption(self, content: bytes) -> None:
        """What is out has to be on disk before the offsets that leave it behind them count."""
        out, rest = _sized(content)
        begins, offsets = _sized(rest)
        coming = offsets, _places(begins)
        self._state.pops.take_table(out)
        self._coming = coming
        self._state.works.start_in_role(self._come_in(coming), lambda _: None, self._broke)

    def _come_in(self, coming: _Consumption) -> Steps[None]:
        while (yield from steps.saved(File.POPS)) is not None:
            yield from steps.wait(self._state.now + AGAIN_SECONDS)
            if self._coming is not coming:
                return  # a later one came, and may count already
        if self._coming is coming:
            self._coming = None
        self._replace_consumption(coming)

    def _out_is_safe(self) -> Steps[None]:
        while (yield from steps.saved(File.POPS)) is not None:
            yield from steps.wait(self._state.now + AGAIN_SECONDS)

    def _settle_consumption(self) -> None:
        """What is on its way in counts now: later it would undo what consumers tell us."""
        coming, self._coming = self._coming, None
        if coming is None:
            return
        state = self._state
        state.files.hold(File.OFFSETS, File.POPS)
        state.works.start(
            self._out_is_safe(),
            lambda _: state.files.release(File.OFFSETS, File.POPS),
            self._broke,
        )
        self._replace_consumption(coming)

    def _replace_consumption(self, coming: _Consumption) -> None:
        state = self._state
        offsets, places = coming
        try:
            state.offsets.replace(offsets)
        except RemoteError as error:
            state.effects.warning(f"the master's table of {CONSUMPTION} is not taken: {error}")
            return
        for place, offset in places:
            state.offsets.commit(*place, offset)
        self._has(CONSUMPTION)

    # ------------------------------------------------------------------ what is missing

    def lose(self) -> None:
        """The log is not the one that this broker's own tables speak of."""
        self._miss(PROGRESS)

    def lead(self) -> None:
        """What we have is what there is."""
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
        """What a start finds. RemoteError where it is no such file."""
        bean = object_of(javajson.loads(content, len(content)), "missingTables.json")
        names = list_of(bean.get("missing") or [], "missing")
        self.missing = PROGRESS & {text_of(name, "missing") for name in names}

    # ------------------------------------------------------------------ the machine

    def deadline(self) -> float:
        return self._look_at

    def expire(self, now: float) -> None:
        self._look()

    def closed(self, channel: Channel) -> None:
        """Nobody's connection matters here."""


def _sized(content: bytes) -> tuple[bytes, bytes]:
    """The first part, and what is behind it."""
    if len(content) < _SIZE.size:
        raise RemoteError(f"it ends {_SIZE.size - len(content)} bytes too early")
    (size,) = _SIZE.unpack_from(content)
    end = _SIZE.size + size
    return content[_SIZE.size : end], content[end:]


def _places(content: bytes) -> list[tuple[Place, int]]:
    """Where the next pop of each queue begins of which something is out."""
    size = len(content)
    places = []
    value = javajson.loads(content, size, values_max=size, dialect_values_max=size)
    for each in list_of(value, CONSUMPTION):
        group, topic, queue_id, offset = list_of(each, CONSUMPTION)
        place = (
            text_of(group, CONSUMPTION),
            text_of(topic, CONSUMPTION),
            long_of(queue_id, CONSUMPTION),
        )
        places.append((place, long_of(offset, CONSUMPTION)))
    return places
