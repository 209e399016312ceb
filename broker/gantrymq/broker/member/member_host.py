"""Runs a member of a group: connects its core with the other members, the Lease, and the broker.

The member has its turn after each turn of the broker, and at its own deadlines. Events of the Lease
and of other members in between are passed to its core at once. If such an event ends this member's
epoch, its turn runs before the broker's next turn, so that nothing is appended in an epoch that is
over.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Disk
from gantrymq.broker.configuration import Setup
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.links.member_links import MemberLinks
from gantrymq.broker.member.ignored_annotations_log import IgnoredAnnotationsLog
from gantrymq.broker.member.lease_client import LeaseClient, api_of
from gantrymq.broker.member.member_figures import figures_of
from gantrymq.broker.member.member_setup import endpoint_of, member_settings_of
from gantrymq.broker.member.request_tasks import RequestTasks
from gantrymq.broker.member.slice_client import SliceClient
from gantrymq.broker.member.slice_keeper import SliceKeeper
from gantrymq.broker.metrics.member import MemberFigures
from gantrymq.broker.page_cache import page_cache_of
from gantrymq.broker.readiness import reason, view_of
from gantrymq.broker.setup import lease_name
from gantrymq.broker.setup.disk_decisions import LOOK_SECONDS, DecisionWatch
from gantrymq.broker.setup.group_setup import GroupSetup
from gantrymq.broker.setup.link_security import LinkSecurity
from gantrymq.ha.election.actions import (
    Action,
    Connect,
    Disconnect,
    Publish,
    ReadLease,
    Restart,
    WriteLease,
    WriteLogLine,
)
from gantrymq.ha.lease.lease_deadline import LeaseDeadline
from gantrymq.ha.lease.lease_object import ObjectName
from gantrymq.ha.member.member import Member
from gantrymq.ha.member.replica_state import ReplicaState, note_doubtful_log
from gantrymq.ha.protocol.handshake import NONCE_BYTES
from gantrymq.ha.status import FollowerStatus, FollowingStatus
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.http.kube_api import KubeApi
from gantrymq.runtime.logs import Log
from gantrymq.store.engine import Store

# How long the end of the process may take to hand over: a switchover, and time to spare.
LEAVE_SECONDS: Final = 3.0

# How long a process forwards requests after it has handed over: the Service leads clients to it
# until each node is updated, and clients use up their three tries within milliseconds.
FORWARD_SECONDS: Final = 1.0


@final
class MemberHost:
    """The member of one broker. The server calls `start` and `stop` once, and `turn` after each
    turn of the core."""

    def __init__(
        self,
        setup: Setup,
        group: GroupSetup,
        core: Broker,
        disk: Disk,
        security: LinkSecurity,
        clock: Clock,
        *,
        turn_soon: Callable[[], None],
        log_moves: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self.address: tuple[str, int] | None = None
        """The address at which members connect; None if there is none."""
        self.lease_deadline = LeaseDeadline(-NEVER)
        self.restart: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why this process has to stop and start again."""
        self._apis: list[KubeApi] = []
        self._clock = clock
        self._core = core
        self._decision_timer: asyncio.TimerHandle | None = None
        self._disk = disk
        self._fail = fail
        self._group = group
        self._is_over = False
        self._last_log_line = ""
        """The last line that the member logged about the election."""
        self._lease: LeaseClient | None = None
        self._log = Log("member")
        self._ignored_log = IgnoredAnnotationsLog(self._log)
        self._decisions = DecisionWatch(disk, self._log, lambda why: self._do(Restart(why)))
        self._log_moves = log_moves
        self._links = MemberLinks(self, security, clock, self._log)
        self._member: Member | None = None
        self._released = asyncio.Event()
        self._requests = RequestTasks(self.fail)
        self._setup = setup
        self._slices: SliceKeeper | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._turn_soon = turn_soon
        self._wakes_at = NEVER
        """When the timer fires; possibly before there is something to do."""

    # ------------------------------------------------------------------ life cycle

    async def start(self) -> None:
        """Connect to the other members; the store is open, and nothing was appended yet."""
        settings, group = self._setup.settings, self._group
        boot = page_cache_of(self._setup.root)
        # The Lease is accessed by one request at a time, over a connection of its own; other
        # requests to the API use the second one.
        first = api_of(group.lease_url)
        self._apis = [first, api_of(group.lease_url, first.adaptive_timeout)]
        place, former = lease_name.places(self._disk, group.lease, group.former_lease)
        self._lease = LeaseClient(
            self._apis[0],
            place,
            self._clock.wall_ms,
            self._problems,
            owner=f"{self._setup.identity.cluster}/{self._setup.identity.name}",
            former=former,
            settled=lambda found: lease_name.note(self._disk, found),
        )
        if group.service:
            service = ObjectName(group.lease.namespace, group.service)
            slices = SliceClient(self._apis[1], service)
            self._slices = SliceKeeper(slices, self._log, self._is_master_of, self._renewed_at)
        member_settings = member_settings_of(self._setup, group, boot)
        self._core.state.group_secret = member_settings.link.secret
        self._member = Member(
            member_settings,
            self._disk,
            self._store,
            self._core,
            lambda: secrets.token_bytes(NONCE_BYTES),
            boot,
            self._clock.monotonic(),
        )
        host = settings.ha_bind_address or settings.bind_address
        self.address = await self._links.start(self._member, host, settings.ha_listen_port)
        self._log.info(
            "started member of a group",
            member=group.number,
            members=len(group.ha_addresses),
            lease=f"{place.namespace}/{place.name}",
            api=self._apis[0].url,
            address=group.ha_addresses[group.number],
        )
        self._look_for_decision()

    def _look_for_decision(self) -> None:
        assert self._member is not None
        self._decisions.look(self._member)
        if not self._is_over:  # the decision may make this process restart
            loop = asyncio.get_running_loop()
            self._decision_timer = loop.call_later(LOOK_SECONDS, self._look_for_decision)

    def store_opens(self) -> None:
        """Called before the store is opened."""
        note_doubtful_log(self._disk, page_cache_of(self._setup.root))

    def store_opened(self) -> None:
        """Record what a crash of the machine may have damaged, before anything else can fail: the
        next start counts everything that this one recovered as flushed."""
        ReplicaState(self._disk, self._store, page_cache_of(self._setup.root))

    async def leave(self) -> None:
        """Hand over before this process ends."""
        if self._member is None or self._is_over or self.restart.done():
            return
        was_master = bool(self._member.epoch)
        self._member.leave(self._clock.monotonic())
        self._turn_soon()
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._released.wait()
        except TimeoutError:
            self._log.warning("stopping without a hand-over", after=f"{LEAVE_SECONDS:g}s")
            return
        if was_master:
            await asyncio.sleep(FORWARD_SECONDS)

    async def stop(self) -> None:
        """Close all links and connections to the API."""
        self._end()
        await self._links.stop()
        await self._requests.stop()
        for api in self._apis:
            await api.close()

    def _end(self) -> None:
        """Stop running turns and acknowledging."""
        self._is_over = True
        self._links.end()
        self.lease_deadline.until = -NEVER
        for timer in (self._timer, self._decision_timer):
            if timer is not None:
                timer.cancel()

    def fail(self, error: Exception) -> None:
        """Report an error that ends the process."""
        self._end()
        self._fail(error)

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float) -> bool:
        """Run the member's turn, after the core's; returns whether there is more to do at once."""
        if self._member is None or self._is_over:
            return False
        try:
            self._step(self._member, now)
        except Exception as error:
            self.fail(error)
        return self._continue_or_wait(self._member, now)

    def _step(self, member: Member, now: float) -> None:
        member.turn(now, self._clock.wall_ms())
        self.lease_deadline.until = member.lease_deadline(now)
        for action in member.take_actions():
            self._do(action)
        self._links.flush()
        if member.is_released:
            self._released.set()

    def _continue_or_wait(self, member: Member, now: float) -> bool:
        """Returns whether there is something to do at once; otherwise sets the timer for the next
        deadline."""
        if self._is_over:
            return False
        deadline = member.deadline(now)
        if deadline <= now or member.is_due or not self._core.state.effects.is_empty:
            return True
        if deadline < self._wakes_at:
            if self._timer is not None:
                self._timer.cancel()
            self._wakes_at = deadline
            self._timer = asyncio.get_running_loop().call_later(deadline - now, self._wake)
        return False

    def _wake(self) -> None:
        self._timer = None
        self._wakes_at = NEVER
        self._turn_soon()

    def link_changed(self) -> None:
        """Run the member's turn soon, or at once."""
        if self._can_continue(self._member):
            self._turn_soon()

    def link_heard(self) -> None:
        """The same, and have the broker's core process what the log gained."""
        if self._can_continue(self._member):
            self._log_moves()

    def _can_continue(self, member: Member | None) -> bool:
        """Whether the member still runs turns. Runs one at once if an event ended this member's
        epoch."""
        if member is None or self._is_over:
            return False
        if member.has_lost_role:
            self.turn(self._clock.monotonic())
        return True

    # ------------------------------------------------------------------ actions of the member

    def _do(self, action: Action) -> None:
        match action:
            case ReadLease() | WriteLease():
                self._requests.begin(self._request_lease(action), "request the lease")
            case Publish(epoch):
                self._publish(epoch)
            case Connect(link, address):
                self._links.dial(link, address)
            case Disconnect(link, reason):
                self._links.disconnect(link, reason)
            case WriteLogLine(text, is_warning):
                self._last_log_line = text
                say = self._log.warning if is_warning else self._log.info
                say(text)
            case Restart(reason):
                self._log.warning("restarting", reason=reason)
                self._end()
                if not self.restart.done():
                    self.restart.set_result(reason)

    async def _request_lease(self, action: ReadLease | WriteLease) -> None:
        assert self._lease is not None
        if isinstance(action, ReadLease):
            answer = await self._lease.read()
        else:
            answer = await self._lease.write(action.lease)
        self._ignored_log.write(self._lease.ignored)
        if self._member is not None and not self._is_over:
            self._member.lease_answered(action.number, answer, self._clock.monotonic())
            self.link_changed()

    def _publish(self, epoch: int) -> None:
        """Start publishing once for each epoch: the keeper continues until the epoch is over."""
        slices = self._slices
        if slices is None:
            self._published(epoch, is_done=True)
        elif slices.epoch != epoch:
            endpoint = endpoint_of(self._setup, self._group, epoch)
            self._requests.begin(slices.keep(endpoint, self._published), "keep the EndpointSlice")

    def _published(self, epoch: int, is_done: bool) -> None:
        if self._member is not None and not self._is_over:
            self._member.published(epoch, is_done=is_done)

    def _is_master_of(self, epoch: int) -> bool:
        return self._member is not None and not self._is_over and self._member.epoch == epoch

    def _renewed_at(self, epoch: int) -> float:
        """When the last renewal in this epoch was sent."""
        return -NEVER if self._lease is None else self._lease.renewed_at(self._group.number, epoch)

    def _problems(self) -> Sequence[str]:
        """What this member reports in the Lease while it is master."""
        if self._member is None or not self._member.epoch or self._lease is None:
            return ()
        slices = () if self._slices is None else self._slices.problems
        conflicts = self._member.conflicts(self._clock.monotonic())
        return [*slices, *conflicts, *self._lease.ignored]

    # ------------------------------------------------------------------ interface to the core

    def followers(self, now: float) -> Sequence[FollowerStatus]:
        return () if self._member is None else self._member.statuses(now)

    def following(self) -> FollowingStatus | None:
        links, member = self._links, self._member
        if member is None or not member.followed:
            return None
        return FollowingStatus(
            member.followed,
            self._store.log.end,
            links.last_read_ms,
            links.last_write_ms,
            links.rate.per_second(self._clock.monotonic()),
        )

    def unready(self, now: float) -> str | None:
        """Why the group cannot rely on this member."""
        if self.restart.done():
            return f"the member restarts: {self.restart.result()}"
        if self._member is None or self._is_over:
            return "the member has not started yet, or is stopping"
        group = self._group
        view = view_of(
            self._member, self._store, group.number, group.min_in_sync, self._last_log_line, now
        )
        return reason(view)

    def figures(self) -> MemberFigures | None:
        """The state for metrics; None before the start."""
        if self._member is None or self._lease is None:
            return None
        now = asyncio.get_running_loop().time()
        return figures_of(self._member, self._lease, self._slices, now)

    def follow(self, address: str) -> None:
        """Does nothing: the group determines the master."""

    @property
    def epoch(self) -> int:
        """The highest epoch seen."""
        return 0 if self._member is None else self._member.seen_epoch

    def spread(self) -> int:
        """Have all members that may become master store the tables; returns a number for
        `lacking`."""
        assert self._member is not None
        self._turn_soon()
        return self._member.spread(self._clock.monotonic())

    def lacking(self, number: int) -> Sequence[str]:
        return () if self._member is None else self._member.lacking(number)

    @property
    def _store(self) -> Store:
        return self._core.state.store
