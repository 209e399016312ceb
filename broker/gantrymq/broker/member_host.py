"""A member of a group at work: its core between the other members, the lease, and the broker.

It has its turn behind each of the broker's, and at its own deadlines. What of the lease and of the
other members comes in between is told to the core at once; where that ends our reign, the core's
turn comes before the broker has another one, so that nothing is appended in an epoch that is over.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker import disk_decisions
from gantrymq.broker.configuration import Setup
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.settings import BrokerRole
from gantrymq.broker.disk_decisions import LOOK_SECONDS, DecisionWatch
from gantrymq.broker.group_setup import GroupSetup
from gantrymq.broker.lease_client import LeaseClient, SliceClient, api_of
from gantrymq.broker.member_links import MemberLinks
from gantrymq.broker.readiness import reason, view_of
from gantrymq.ha.actions import Action, Dial, HangUp, Publish, ReadLease, Restart, Say, WriteLease
from gantrymq.ha.authority import Authority
from gantrymq.ha.chronicle import Chronicle, note_doubt
from gantrymq.ha.endpoint_slice import Endpoint
from gantrymq.ha.handshake import NONCE_BYTES
from gantrymq.ha.handshake import Member as MemberName
from gantrymq.ha.lease_object import ObjectName
from gantrymq.ha.link_settings import LinkSettings
from gantrymq.ha.member import Member, MemberSettings
from gantrymq.ha.status import FollowerStatus, FollowingStatus
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.kube_api import KubeApi
from gantrymq.runtime.logs import Log
from gantrymq.store.engine import Store
from gantrymq.store.settings import FlushDiskType

# How long a process that is to end may take to hand over: HA.md's switchover, and time to be sure.
LEAVE_SECONDS: Final = 3.0

# How long what comes to a process that has handed over is relayed: a Service leads to it until
# each machine was told otherwise, and clients burn their three tries on it within milliseconds.
RELAY_SECONDS: Final = 1.0

# Of the group's Service, and so of its EndpointSlice.
PORT_NAMES: Final = ("broker", "fast", "ha")

# A slice that was deleted or edited is put right so soon: a look at it is one small request.
PUBLISH_AGAIN_SECONDS: Final = 10.0

NEVER: Final = float("inf")

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


@final
class MemberHost:
    """Of one broker. `start` and `stop` once, `turn` behind each of the core's."""

    def __init__(
        self,
        setup: Setup,
        group: GroupSetup,
        core: Broker,
        disk: Disk,
        clock: Clock,
        *,
        turn_soon: Callable[[], None],
        log_moves: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self.address: tuple[str, int] | None = None
        """Where members are listened for; None: nowhere."""
        self.authority = Authority(-NEVER)
        self.restart: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why this process is to stop and start again."""
        self._api: KubeApi | None = None
        self._clock = clock
        self._core = core
        self._decision_timer: asyncio.TimerHandle | None = None
        self._disk = disk
        self._fail = fail
        self._group = group
        self._is_over = False
        self._last_words = ""
        """What the member said last of the election."""
        self._lease: LeaseClient | None = None
        self._log = Log("member")
        self._decisions = DecisionWatch(disk, self._log, lambda why: self._do(Restart(why)))
        self._log_moves = log_moves
        self._links = MemberLinks(self, clock, self._log)
        self._member: Member | None = None
        self._publish_timer: asyncio.TimerHandle | None = None
        self._publishing: asyncio.Task[None] | None = None
        self._released = asyncio.Event()
        self._requests: set[asyncio.Task[None]] = set()
        self._setup = setup
        self._slices: SliceClient | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._turn_soon = turn_soon
        self._unpublished: str | None = None
        """Why the Service did not lead here when that was tried last."""
        self._was_service_checked = False
        self._wakes_at = NEVER
        """When the timer does; it may be sooner than there is something to do."""

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Meet the others; the store is open, and has taken nothing yet."""
        settings, group = self._setup.settings, self._group
        boot = _boot_id()
        self._api = api = api_of(group.lease_url)
        self._lease = LeaseClient(api, group.lease, self._clock.wall_ms)
        if group.service:
            self._slices = SliceClient(api, ObjectName(group.lease.namespace, group.service))
        self._member = Member(
            _member_settings(self._setup, group, boot),
            self._disk,
            self._store,
            self._core,
            lambda: secrets.token_bytes(NONCE_BYTES),
            boot,
            self._clock.monotonic(),
        )
        port = settings.ha_listen_port
        self.address = await self._links.start(self._member, settings.bind_address, port)
        self._log.info(
            f"member {group.number} of {len(group.ha_addresses)}: the group elects its master",
            lease=f"{group.lease.namespace}/{group.lease.name}",
            api=api.url,
            address=group.ha_addresses[group.number],
        )
        self._look_for_decision()

    def _look_for_decision(self) -> None:
        assert self._member is not None
        self._decisions.look(self._member)
        if not self._is_over:  # the decision may have this process restart
            loop = asyncio.get_running_loop()
            self._decision_timer = loop.call_later(LOOK_SECONDS, self._look_for_decision)

    def store_opens(self) -> None:
        """Before it does."""
        disk_decisions.carry_out(self._setup.root, self._log)
        note_doubt(self._disk, _boot_id())

    def store_opened(self) -> None:
        """What the machine went down with is noted before anything else can go wrong: the next
        start takes what this one found for written."""
        Chronicle(self._disk, self._store, _boot_id())

    async def leave(self) -> None:
        """Hand over what there is, before this process ends."""
        if self._member is None or self._is_over or self.restart.done():
            return
        was_master = bool(self._member.epoch)
        self._member.leave(self._clock.monotonic())
        self._turn_soon()
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._released.wait()
        except TimeoutError:
            self._log.warning("stopping without having handed over", after=f"{LEAVE_SECONDS:g}s")
            return
        if was_master:
            await asyncio.sleep(RELAY_SECONDS)

    async def stop(self) -> None:
        """No link, and no lease, any more."""
        self._end()
        await self._links.stop()
        tasks = list(self._requests)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._api is not None:
            await self._api.close()

    def _end(self) -> None:
        """No turns any more, and nothing is acknowledged."""
        self._is_over = True
        self._links.end()
        self.authority.until = -NEVER
        for timer in (self._timer, self._publish_timer, self._decision_timer):
            if timer is not None:
                timer.cancel()

    def fail(self, error: Exception) -> None:
        """The process has to end."""
        self._end()
        self._fail(error)

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float) -> bool:
        """Behind the core's; whether there is more to do at once."""
        if self._member is None or self._is_over:
            return False
        try:
            self._step(self._member, now)
        except Exception as error:
            self.fail(error)
        return self._goes_on(self._member, now)

    def _step(self, member: Member, now: float) -> None:
        member.turn(now, self._clock.wall_ms())
        self.authority.until = member.authority_until(now)
        for action in member.take_actions():
            self._do(action)
        self._links.flush()
        if member.is_released:
            self._released.set()

    def _goes_on(self, member: Member, now: float) -> bool:
        """Whether there is something to do at once; else a timer wakes us when there is."""
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
        """The member's turn comes soon, or at once."""
        if self._goes_on_with(self._member):
            self._turn_soon()

    def link_heard(self) -> None:
        """The same, where the core may go by what it was told, and by where the log is."""
        if self._goes_on_with(self._member):
            self._log_moves()

    def _goes_on_with(self, member: Member | None) -> bool:
        """Whether it has turns; one comes at once where what it heard ended our reign."""
        if member is None or self._is_over:
            return False
        if member.is_deposed:
            self.turn(self._clock.monotonic())
        return True

    # ------------------------------------------------------------------ what it wants done

    def _do(self, action: Action) -> None:
        match action:
            case ReadLease() | WriteLease():
                self._begin(self._ask_lease(action), "ask for the lease")
            case Publish(epoch):
                self._publish_soon(epoch)
            case Dial(link, address):
                self._links.dial(link, address)
            case HangUp(link, reason):
                self._links.hang_up(link, reason)
            case Say(text, is_warning):
                self._last_words = text
                say = self._log.warning if is_warning else self._log.info
                say(text)
            case Restart(reason):
                self._log.warning(f"restarting: {reason}")
                self._end()
                if not self.restart.done():
                    self.restart.set_result(reason)

    def _begin(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._requests.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._requests.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.fail(error)

    async def _ask_lease(self, action: ReadLease | WriteLease) -> None:
        assert self._lease is not None
        if isinstance(action, ReadLease):
            answer = await self._lease.read()
        else:
            answer = await self._lease.write(action.lease)
        if self._member is not None and not self._is_over:
            self._member.lease_answered(action.number, answer, self._clock.monotonic())
            self.link_changed()

    def _publish_soon(self, epoch: int) -> None:
        if self._publishing is None or self._publishing.done():
            self._publishing = self._begin(self._publish(epoch), "publish the endpoint")

    async def _publish(self, epoch: int) -> None:
        failure = None
        if self._slices is not None:
            failure = await self._slices.publish(_endpoint(self._setup, self._group, epoch))
            self._tell_published(failure)
            await self._check_service(self._slices)
        if self._member is None or self._is_over:
            return
        self._member.published(epoch, is_done=failure is None)
        if self._slices is not None:
            self._look_again_at_slice(epoch)

    def _look_again_at_slice(self, epoch: int) -> None:
        if self._publish_timer is not None:
            self._publish_timer.cancel()
        loop = asyncio.get_running_loop()
        self._publish_timer = loop.call_later(PUBLISH_AGAIN_SECONDS, self._publish_again, epoch)

    def _publish_again(self, epoch: int) -> None:
        """Repair the slice while this member leads: users may change or delete it."""
        if self._member is not None and not self._is_over and self._member.epoch == epoch:
            self._publish_soon(epoch)

    async def _check_service(self, slices: SliceClient) -> None:
        """Once: a Service is made once, and what is wrong with it stays in the log."""
        if self._was_service_checked:
            return
        self._was_service_checked = True
        mistake = await slices.mistake(PORT_NAMES)
        if mistake is not None:
            self._log.warning("clients do not get to the master by its Service", cause=mistake)

    def _tell_published(self, failure: str | None) -> None:
        """Once: it is tried twice a second, for as long as an administrator needs to mend it."""
        if failure == self._unpublished:
            return
        self._unpublished = failure
        if failure is None:
            self._log.info("the Service leads here now")
        else:
            self._log.warning("the Service does not lead here yet", cause=failure)

    # ------------------------------------------------------------------ what the core sees

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
            return f"it restarts: {self.restart.result()}"
        if self._member is None or self._is_over:
            return "it is no member at work"
        group = self._group
        view = view_of(
            self._member, self._store, group.number, group.min_in_sync, self._last_words, now
        )
        return reason(view)

    def follow(self, address: str) -> None:
        """The group says whom."""

    @property
    def epoch(self) -> int:
        """The highest that was seen."""
        return 0 if self._member is None else self._member.seen_epoch

    def spread(self) -> int:
        """Have the tables stored by all who may become master."""
        assert self._member is not None
        self._turn_soon()
        return self._member.spread(self._clock.monotonic())

    def lacking(self, number: int) -> Sequence[str]:
        return () if self._member is None else self._member.lacking(number)

    @property
    def _store(self) -> Store:
        return self._core.state.store


def _boot_id() -> str:
    """Another one after each start of the machine."""
    try:
        return _BOOT.read_text().strip()
    except OSError as error:
        raise ConfigurationError(
            f"{_BOOT} cannot be read: {error.strerror}; groupMembers needs it, to know whether the"
            " machine went down with messages that were not on its disk"
        ) from error


def _member_settings(setup: Setup, group: GroupSetup, boot: str) -> MemberSettings:
    identity, settings = setup.identity, setup.settings
    link = LinkSettings(
        MemberName(f"{identity.cluster}/{identity.name}", group.number, boot),
        group.secret,
        frozenset(group.ha_addresses),
        waits=settings.broker_role is BrokerRole.SYNC_MASTER,
        flushes=setup.store.flush_disk_type is FlushDiskType.SYNC_FLUSH,
        min_in_sync=group.min_in_sync,
    )
    addresses = dict(group.ha_addresses)
    if "brokerIP2" in setup.sources:  # that of a pod needs no look into DNS, which may be old
        addresses[group.number] = identity.ha_address
    return MemberSettings(link, addresses, identity.address)


def _endpoint(setup: Setup, group: GroupSetup, epoch: int) -> Endpoint:
    """Where the group's Service is to lead while we are master."""
    settings, pod = setup.settings, group.pod
    port = settings.listen_port
    numbers = (port, port - 2, settings.ha_listen_port)
    ports = dict(zip(PORT_NAMES, numbers, strict=True))
    return Endpoint(epoch, settings.broker_ip1, ports, pod.node, pod.name, pod.uid)
