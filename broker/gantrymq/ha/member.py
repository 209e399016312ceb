"""One member of a group that elects its master: lease, links, log and roles as one machine.

    turn(now, wall_ms)                 once behind each turn of the broker's core, and at `deadline`
    opened, connected, received ...    what the network does
    lease_answered, published          what the lease store does
    take_actions, take_output          what is to be done
    authority_until                    acknowledgements leave before it, or not at all

Invariants. What is seen of an epoch is on our disk before anything is done in it. Nothing is
appended once a higher epoch was seen than the one we append in. A role changes here alone, within
one call: there is no moment in which two of our parts take us for different ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.ha.actions import Action, HangUp, Publish, Say
from gantrymq.ha.agent import Agent
from gantrymq.ha.chronicle import Chronicle
from gantrymq.ha.dials import Dials
from gantrymq.ha.election import Sighting
from gantrymq.ha.events import Ended
from gantrymq.ha.handshake import Standing
from gantrymq.ha.identity import Identity
from gantrymq.ha.in_sync import InSync
from gantrymq.ha.lease import NOBODY, Lease, LeaseAnswer
from gantrymq.ha.link_settings import LinkSettings
from gantrymq.ha.member_events import Met, NewerEpoch
from gantrymq.ha.member_follower import MemberFollower
from gantrymq.ha.member_followers import MemberFollowers
from gantrymq.ha.phase import Phase
from gantrymq.ha.place import Place
from gantrymq.ha.roles import Roles
from gantrymq.ha.status import FollowerStatus
from gantrymq.store.engine import Store

# An heir is to have the tables as they were when we stopped serving; longer nobody waits for that.
TABLES_SECONDS: Final = 0.4

# Between two questions for a promise.
ASK_SECONDS: Final = 0.5

# A Publish that did not succeed is tried again.
PUBLISH_SECONDS: Final = 0.5

NEVER: Final = float("inf")

_DECIDE: Final = (
    "it has no part in it, and nothing on it is touched. Where all members of the group say so, the"
    " Lease was replaced and the disks are right: restore the Lease, or delete it and restart the"
    " members. Where this member alone does, run `gantry store archive` on this store, and the"
    " member begins empty beside what it had; or `gantry store adopt --group` with the Lease's UUID"
    " where its messages are this group's"
)


@final
@dataclass(frozen=True, slots=True)
class MemberSettings:
    """Of one member."""

    link: LinkSettings
    ha_addresses: Mapping[int, str]
    """Of all configured members, by their numbers."""
    address: str
    """Where we take requests."""


@final
class Member:
    """The machine. Made when the store is open, as a copy; it follows until it is master."""

    __slots__ = (
        "_actions",
        "_ask_at",
        "_asked",
        "_chronicle",
        "_conflicts",
        "_dials",
        "_followers",
        "_guests",
        "_in_sync",
        "_is_paused",
        "_last_guest",
        "_led",
        "_nonce",
        "_noted",
        "_publish_at",
        "_roles",
        "_settings",
        "_store",
        "_tables",
        "agent",
    )

    def __init__(
        self,
        settings: MemberSettings,
        disk: Disk,
        store: Store,
        roles: Roles,
        nonce: Callable[[], bytes],
        boot: str,
        now: float,
    ) -> None:
        """`boot` is another one after each start of the machine."""
        link = settings.link
        number = link.me.number
        self._actions: list[Action] = []
        self._ask_at = NEVER
        self._asked = 0
        self._chronicle = Chronicle(disk, store, boot)
        process = nonce().hex()
        self._chronicle.identify(process)  # a new disk: no other one has this UUID either
        self._conflicts: Sequence[str] = ()
        """Those that were logged last."""
        self._guests: dict[int, MemberFollower] = {}
        self._in_sync: InSync | None = None
        self._is_paused = False
        self._last_guest = 0
        self._led = 0
        self._nonce = nonce
        self._noted: Lease | None = None
        """What `_note` has seen: a follower asks in each of its turns."""
        self._publish_at = NEVER
        self._roles = roles
        self._settings = settings
        self._store = store
        self._tables = 0, NEVER
        """What an heir is to have stored, and until when that is waited for."""
        addresses, known = settings.ha_addresses, self._chronicle
        configured, ha_address = frozenset(addresses), addresses[number]
        place = Place(number, configured, settings.address, ha_address, process)
        self.agent = agent = Agent(place, now, is_new=known.is_new, kept=known.lease)
        self._dials = Dials(link, addresses, nonce, known, self.standing, agent, store, roles)
        self._followers = MemberFollowers(store, link, self.standing, nonce)
        store.safe = store.log.start  # until a master says what is safe

    # ------------------------------------------------------------------ what others go by

    def authority_until(self, now: float) -> float:
        """Acknowledgements leave before this moment of our clock."""
        return self.agent.authority(self, now)

    @property
    def is_released(self) -> bool:
        """Whether this process may end: nobody waits for anything of ours, and who still sends to
        us can be told of another master, if there is one."""
        return self.agent.phase is Phase.RELEASED and self.agent.has_successor

    @property
    def epoch(self) -> int:
        """Of which we are master; 0 while we are not."""
        return self._led

    @property
    def seen_epoch(self) -> int:
        """The highest that we know of in this group; 0 before it is known that our disk is of it: a
        name server that heard a higher one would take nobody else in our place."""
        lease = self.agent.lease
        is_known = lease is not None and lease.doubt is None and not self.is_foreign
        return self._chronicle.epoch if self._led or is_known else 0

    @property
    def is_deposed(self) -> bool:
        """Whether a turn has to come before anything is appended: we are master no more, and the
        broker does not know."""
        return self._led not in (0, self.agent.epoch)

    def leave(self, now: float) -> None:
        """The process is to end: hand over, then be released."""
        self.agent.leave(now)

    def take_actions(self) -> Sequence[Action]:
        """What is to be done now, in order."""
        actions = [*self._actions, *self._dials.take_actions(), *self.agent.take_actions()]
        self._actions.clear()
        return actions

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float, wall_ms: int) -> None:
        """Everything there is to do; behind the turn of the store."""
        self._dials.wall_ms = wall_ms
        self._dials.is_stray = self.stray() is not None
        self.agent.decide(self, now)
        self._obey(now, wall_ms)
        if self._has_paused(now, wall_ms):
            self.agent.decide(self, now)  # who has everything may be our heir now
            self._obey(now, wall_ms)
        self._dials.turn(now)
        if self._led:
            self._lead_on(now)
        for guest, ended in self._followers.turn(now):
            self._end(guest, ended)
        if now >= self._publish_at and self._led:
            self._publish_at = now + PUBLISH_SECONDS
            self._actions.append(Publish(self._led))

    def deadline(self, now: float) -> float:
        """When `turn` has something to do, if nothing happens before."""
        return min(
            self.agent.deadline(self, now),
            self._dials.deadline(now),
            self._followers.deadline(),
            self._ask_at,
            self._publish_at,
            self._tables[1] if now < self._tables[1] else NEVER,
        )

    @property
    def is_due(self) -> bool:
        """Whether a turn has something to do at once."""
        return self._followers.is_due

    def _obey(self, now: float, wall_ms: int) -> None:
        """Be what the agent says we are."""
        agent = self.agent
        if self._led and agent.epoch != self._led:
            self._step_down(now, wall_ms)
        if agent.epoch and not self._led:
            self._step_up(agent.epoch, now, wall_ms)
        if not agent.epoch:
            self._note(agent.lease)

    def _note(self, lease: Lease | None) -> None:
        """What was read or written is on our disk before anything is done by it; the Lease of
        another group, or one that is not believed, tells us nothing."""
        if lease is None or lease is self._noted:
            return
        self._noted = lease
        if lease.doubt is not None or self.stray() is not None:
            return
        self._chronicle.see(lease.epoch)
        self._chronicle.join(lease.group)
        self._chronicle.note_lease(lease)

    def _has_paused(self, now: float, wall_ms: int) -> bool:
        """While we hand over nobody is served; whether that has just begun. What was known of
        clients until then goes to the heir."""
        is_paused = self.agent.phase is Phase.HANDING_OVER
        if not self._led or is_paused == self._is_paused:
            return False
        self._is_paused = is_paused
        self._roles.pause(now, wall_ms, is_paused=is_paused)
        if is_paused:
            self._tables = self.spread(now), now + TABLES_SECONDS
        return is_paused

    def _step_up(self, epoch: int, now: float, wall_ms: int) -> None:
        """We have the lease: from the first record of our epoch on everybody follows us."""
        agent = self.agent
        assert agent.lease is not None
        self._dials.leave_all("we are master")
        self._chronicle.begin(epoch)
        link = self._settings.link
        lease = agent.lease
        in_sync = InSync(
            link.me.number, lease.in_sync, now, flushes=link.flushes, disks=lease.disks
        )
        agent.in_sync = self._in_sync = in_sync
        self._led, self._is_paused = epoch, False
        self._asked, self._ask_at = 0, NEVER
        self._publish_at = now
        # First who has to have what, then what was parked: the broker may write that at once.
        self._followers.lead(epoch, in_sync, now)
        self._roles.lead(epoch, now, wall_ms)

    def _step_down(self, now: float, wall_ms: int) -> None:
        """Nothing of ours is appended or acknowledged from here on."""
        self._led, self._is_paused = 0, False
        self.agent.in_sync = self._in_sync = None
        self._ask_at = self._publish_at = NEVER
        self._followers.retire(now)
        self._roles.follow(now, wall_ms)
        self._roles.master_is("", now, wall_ms)

    def _lead_on(self, now: float) -> None:
        """Ask for promises where the lease cannot be renewed; send what changed in tables."""
        if self.agent.lease is not None and self._in_sync is not None:
            self._in_sync.fenced = self.agent.lease.fenced
        if not self.agent.asks_promises(now):
            self._ask_at = NEVER
        elif self._ask_at == NEVER or now >= self._ask_at:
            self._asked += 1
            self._followers.ask_promise(self._asked, now)
            self._ask_at = now + ASK_SECONDS
        if now >= self._followers.tables_at:
            self._followers.tables(self._roles.tables(), now)

    # ------------------------------------------------------------------ tables

    def spread(self, now: float) -> int:
        """Have all members store the tables as they are now: a number for `lacking`."""
        return self._followers.tables(self._roles.tables(), now)

    def lacking(self, number: int) -> Sequence[str]:
        """Who may become master, and has not stored them."""
        return [f"member {each}" for each in self._followers.lacking(number)]

    # ------------------------------------------------------------------ what the agent asks

    def standing(self) -> Standing:
        standing = self._chronicle.standing()
        return standing if self._roles.may_lead else standing._replace(is_electable=False)

    def new_id(self) -> str:
        return self._nonce().hex()

    def stray(self) -> str | None:
        lease, ours = self.agent.lease, self._chronicle.identity
        if lease is None or not lease.group or lease.group == ours.group:
            return None
        number = self._settings.link.me.number
        if ours.group:
            return (
                f"the disk of member {number} is of the group {ours.group}, and the Lease is of"
                f" {lease.group}: {_DECIDE}"
            )
        if self._chronicle.is_of_no_group or lease.disks.get(number, "") in ("", ours.disk):
            return None
        return (
            f"the disk of member {number} has messages and names no group, and the Lease of"
            f" {lease.group} knows another disk of this member: {_DECIDE}"
        )

    @property
    def is_foreign(self) -> bool:
        """Whether a person has to decide what becomes of our disk."""
        return self.stray() is not None

    @property
    def identity(self) -> Identity:
        """Of our disk."""
        return self._chronicle.identity

    def sightings(self) -> Mapping[int, Sighting]:
        return self._dials.sightings

    def stall(self, now: float) -> str | None:
        return self._store.stall(now)

    def trouble(self, now: float) -> str | None:
        return self._store.trouble(now)

    def secure(self, now: float) -> bool:
        store = self._store
        store.flush_soon(now)
        return store.flushed >= (self._followers.held if self._led else store.log.end)

    def others_take(self) -> bool:
        lease = self.agent.lease
        if self._in_sync is None or lease is None:
            return False
        others = self._in_sync.persisted - lease.fenced
        return any(self._followers.takes_messages(each) for each in others)

    def hears_master(self) -> bool:
        return self._dials.hears_master

    def promised_since(self) -> float | None:
        members = self.agent.must_promise()
        return None if members is None else self._followers.promised_since(members)

    def heir(self, chosen: int, now: float) -> int:
        """Whose log ends where ours does, and is one of the set; who has the tables as well, while
        that is waited for. Who takes messages, unless we have to go."""
        in_sync, lease = self._in_sync, self.agent.lease
        if in_sync is None or lease is None or not self._is_paused:
            return NOBODY
        if not self._store.waiters.is_empty and self._store.stall(now) is None:
            return NOBODY
        complete = {each for each in in_sync.persisted if self._followers.has_all(each)}
        able = complete - lease.fenced
        tables, until = self._tables
        if now < until:
            able = {each for each in able if self._followers.stored_by({each}) >= tables}
        if chosen != NOBODY:
            return chosen if chosen in able else NOBODY
        takers = {each for each in able if self._followers.takes_messages(each)}
        has_to_go = self.agent.is_leaving or self._settings.link.me.number in lease.fenced
        if takers or not has_to_go:
            able = takers
        preferred = lease.wishes.preferred
        return preferred if preferred in able else min(able, default=NOBODY)

    # ------------------------------------------------------------------ figures

    def statuses(self, now: float) -> Sequence[FollowerStatus]:
        """Of those who follow us."""
        return self._followers.statuses(now)

    def conflicts(self, now: float) -> Sequence[str]:
        """Seats that two processes claim at the same time; of a master."""
        return self._followers.conflicts(now)

    @property
    def refusal(self) -> str:
        """Why the master does not take us in, where an operator has to mend that; "" else."""
        return self._dials.refusal

    @property
    def followed(self) -> str:
        """The HA address of the master that has taken us in; "" while none has."""
        return self._dials.followed

    @property
    def behind_bytes(self) -> int:
        """What we lack of the log that the master had when it took us in."""
        return self._dials.behind_bytes

    # ------------------------------------------------------------------ the lease store

    def lease_answered(self, number: int, answer: LeaseAnswer, now: float) -> None:
        """What became of a ReadLease or WriteLease; a turn comes next."""
        self.agent.lease_answered(number, answer, now)
        self._note(self.agent.lease)

    def published(self, epoch: int, *, is_done: bool) -> None:
        """What became of a Publish."""
        if is_done and epoch == self._led:
            self._publish_at = NEVER

    # ------------------------------------------------------------------ the network

    def opened(self, address: str, now: float) -> int | None:
        """Somebody connected to our HA port: the link's number; None: close it."""
        number = self._last_guest + 2
        guest = self._followers.opened(number, address, now)
        if guest is None:
            return None
        self._last_guest = number
        self._guests[number] = guest
        return number

    def connected(self, link: int, now: float) -> None:
        """What we dialed is there."""
        self._dials.connected(link, now)

    def received(self, link: int, data: bytes, now: float) -> None:
        """Bytes of the other end; a turn comes next."""
        guest = self._guests.get(link)
        if guest is None:
            self._dials.received(link, data, now)
            return
        for event in self._followers.heard(guest, data, now):
            match event:
                case Met(member, standing):
                    self._dials.saw(member.number, standing, now)
                    self._tell_conflicts(now)
                case NewerEpoch(epoch):
                    self._chronicle.see(epoch)
                    self.agent.saw(epoch, now)
                case Ended():
                    self._end(guest, event)

    def _tell_conflicts(self, now: float) -> None:
        """Once for each; called when a process connects, as those that are refused do."""
        conflicts = self.conflicts(now)
        self._actions += [
            Say(each, is_warning=True) for each in conflicts if each not in self._conflicts
        ]
        self._conflicts = conflicts

    def closed(self, link: int, now: float) -> None:
        """It is gone, or could not be."""
        guest = self._guests.pop(link, None)
        if guest is not None:
            self._followers.closed(guest)
        else:
            self._dials.closed(link, now)

    def is_held_up(self, link: int, *, is_held_up: bool) -> None:
        """The network takes nothing more for now, or takes again."""
        guest = self._guests.get(link)
        if guest is not None:
            guest.is_held_up = is_held_up

    def take_output(self, link: int) -> Sequence[bytes]:
        """What is to be sent there."""
        guest = self._guests.get(link)
        return self._dials.take_output(link) if guest is None else guest.take_output()

    @property
    def links(self) -> Sequence[int]:
        """All there are, those that are being dialed as well."""
        return [*self._guests, *self._dials.numbers]

    def _end(self, guest: MemberFollower, ended: Ended) -> None:
        if self._guests.pop(guest.number, None) is not None:
            self._followers.closed(guest)
            self._actions.append(HangUp(guest.number, ended.text))
