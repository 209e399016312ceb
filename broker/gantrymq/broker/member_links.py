"""The connections of a member: those that come in at its HA port, and those it begins.

Each is a thin skin over a link of the member's core, which knows it by its number: bytes go both
ways, output is made in the turns of the broker, and none for whom the network does not take it.
The core hears of a connection that came in once its first bytes are a member's; until then it is
one of a bounded number, and has PROOF_SECONDS. In the core it has as long to prove itself. Where
there is TLS below, the core hears of either kind once that has begun, and the other end has proved
that nobody is in between (channel_proof.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol, cast, final

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.link_security import LinkSecurity
from gantrymq.broker.unproven import UnprovenConnections
from gantrymq.ha.channel_proof import ChannelProof
from gantrymq.ha.member import Member
from gantrymq.ha.member_frames import OPENING
from gantrymq.ha.rate import Rate
from gantrymq.ha.slave_admission import PROOF_SECONDS
from gantrymq.runtime.address import format_address, parse_address
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.listening import listen
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.sweep import Sweep
from gantrymq.runtime.tls import Door, DoorError

# A member that is there answers at once; another one may have to be asked soon.
CONNECT_SECONDS: Final = 1.0

# Above so much unsent output the transport asks us to pause.
WRITE_BUFFER_BYTES: Final = 256 * 1024

# How long the last words to a peer may take to leave.
LINGER_SECONDS: Final = 1.0

NO_MEMBER: Final = (
    "the peer is no member of this group; groupMembers elect their master, and slaves with"
    " brokerRole=SLAVE follow a broker of fixed roles"
)


class LinkOwner(Protocol):
    """Hears of the member's links."""

    def link_changed(self) -> None:
        """One came, went, or takes bytes again: the member's turn has to come soon."""

    def link_heard(self) -> None:
        """Something was said: the same, but what of it is not of the log the core was told."""

    def fail(self, error: Exception) -> None:
        """The store, or the member, cannot go on."""


@final
class MemberLinks:
    """Of one member. `start`, then `stop`; `flush` in each turn."""

    def __init__(self, owner: LinkOwner, security: LinkSecurity, clock: Clock, log: Log) -> None:
        self.monotonic = clock.monotonic
        self.owner = owner
        self.last_read_ms = 0
        """Wall clock of what came last on a connection that we began."""
        self.last_write_ms = 0
        self.rate = Rate(clock.monotonic())
        """Of what comes on those."""
        self.security = security
        self._clock = clock
        self._connections: dict[int, MemberConnection] = {}
        self._dialing: dict[int, asyncio.Task[None]] = {}
        self._is_over = False
        self._listening: list[asyncio.Server] = []
        self._log = QuietLog(log)
        self._member: Member | None = None
        self._unproven: UnprovenConnections[MemberConnection] = UnprovenConnections()
        self._sweep = Sweep(self._unproven.all, clock.monotonic, self._log.settle)

    @property
    def member(self) -> Member:
        assert self._member is not None
        return self._member

    async def start(self, member: Member, host: str, port: int) -> tuple[str, int]:
        """Listen; where that is, as port 0 lets the system choose."""
        self._member = member
        try:
            self._listening = await listen(lambda: MemberConnection(self), host, port)
        except OSError as error:
            raise ConfigurationError(
                f"haListenPort: cannot listen for members of the group on {host}:{port}: "
                f"{error.strerror or error}; give another haListenPort"
            ) from error
        self._sweep.start()
        address: tuple[str, int] = self._listening[0].sockets[0].getsockname()[:2]
        return address

    def end(self) -> None:
        """What still comes is not for the member any more."""
        self._is_over = True

    async def stop(self) -> None:
        """Accept nobody, and close what there is."""
        self.end()
        self._sweep.stop()
        for listening in self._listening:
            listening.close()
        tasks = list(self._dialing.values())
        for task in tasks:
            task.cancel()
        for connection in (*self._connections.values(), *self._unproven.all()):
            connection.abort()
        self._connections.clear()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------ what the member wants

    def dial(self, number: int, address: str) -> None:
        """Connect."""
        task = asyncio.get_running_loop().create_task(
            self._dial(number, address), name=f"dial member at {address}"
        )
        self._dialing[number] = task
        task.add_done_callback(lambda _: self._dialing.pop(number, None))

    def hang_up(self, number: int, reason: str) -> None:
        """Close this one, behind what it was told last."""
        task = self._dialing.pop(number, None)
        if task is not None:
            task.cancel()
        connection = self._connections.pop(number, None)
        if connection is not None:
            peer = connection.address
            self._log.info(reason, self.monotonic(), "connection closed", peer=peer, reason=reason)
            connection.close()

    def flush(self) -> None:
        """Send what there is."""
        for number, connection in list(self._connections.items()):
            output = self.member.take_output(number)
            if output:
                connection.write(output)
                if connection.was_dialed:
                    self.last_write_ms = self._clock.wall_ms()

    async def _dial(self, number: int, address: str) -> None:
        connection = MemberConnection(self, number)
        try:
            cause = await self._connect(connection, address)
        except (OSError, TimeoutError, ConfigurationError) as error:
            cause = str(error) or f"no answer in {CONNECT_SECONDS:g} s"
        finally:
            if not connection.has_begun:
                connection.abort()
        if cause:
            now = self.monotonic()
            self._log.info(f"to {address}", now, "not connected", member=address, cause=cause)
            self.member.closed(number, now)
            self.owner.link_changed()

    async def _connect(self, connection: MemberConnection, address: str) -> str:
        """Why there is no connection, where that is known without an exception."""
        host, port = parse_address(address)
        async with asyncio.timeout(CONNECT_SECONDS):
            await asyncio.get_running_loop().create_connection(lambda: connection, host, port)
            await connection.ready
        return connection.failure

    # ------------------------------------------------------------------ what connections say

    def connected(self, connection: MemberConnection) -> None:
        """It came in, and may be a member's."""
        crowded = self._unproven.add(connection)
        if crowded is not None:
            self.turn_away(crowded, "it said nothing, and others came")

    def began(self, connection: MemberConnection) -> bool:
        """Whether the core takes it; one that came in has no number yet, and gets one."""
        self._unproven.remove(connection)
        self.security.refresh()
        number, now = connection.number, self.monotonic()
        if number is not None:
            if number not in self.member.links:
                return False  # it is not wanted any more
            self.member.connected(number, now)
        else:
            number = self.member.opened(connection.address, now)
        if number is None:
            return False
        connection.number = number
        self._connections[number] = connection
        self.owner.link_changed()
        return True

    def turn_away(self, connection: MemberConnection, cause: str) -> None:
        """It is no member's, or does not show that it is."""
        self._unproven.remove(connection)
        peer, now = connection.address, self.monotonic()
        self._log.warning("no member", now, "connection closed", peer=peer, cause=cause)
        connection.close()

    def gone(self, connection: MemberConnection) -> None:
        """It ended before the core heard of it."""
        self._unproven.remove(connection)

    def received(self, connection: MemberConnection, data: bytes) -> None:
        now, number = self.monotonic(), connection.number
        assert number is not None
        if self._is_over:
            return
        if connection.was_dialed:
            self.last_read_ms = self._clock.wall_ms()
            self.rate.add(len(data), now)
        try:
            self.member.received(number, data, now)
        except Exception as error:
            self.owner.fail(error)
            return
        self.owner.link_heard()

    def held_up(self, number: int, *, is_held_up: bool) -> None:
        self.member.is_held_up(number, is_held_up=is_held_up)
        self.owner.link_changed()

    def ended(self, number: int) -> None:
        if self._connections.pop(number, None) is not None:
            self.member.closed(number, self.monotonic())
            self.owner.link_changed()


@final
class MemberConnection(asyncio.Protocol):
    """One connection; the transport calls. `number` is None for one that came in, until it has
    begun as a member does."""

    def __init__(self, owner: MemberLinks, number: int | None = None) -> None:
        self.address = "unknown"
        self.failure = ""
        """Why one that we dialed has not begun."""
        self.has_begun = False
        """Whether the core knows it."""
        self.host = ""
        self.number = number
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once it has begun, or never will."""
        self.was_dialed = number is not None
        security = owner.security
        self._door: Door | None = security.outgoing() if self.was_dialed else security.incoming()
        self._channel_proof: ChannelProof | None = None
        """What the other end still has to say of the TLS connection."""
        self._first = b""
        self._has_sealed = False
        self._is_over = False
        self._owner = owner
        self._proof_by = owner.monotonic() + PROOF_SECONDS
        self._transport: asyncio.Transport | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether there is TLS below."""
        return self._door is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are no subclasses of asyncio's.
        self._transport = transport = cast("asyncio.Transport", transport)
        self.address = format_address(transport.get_extra_info("peername"))
        self.host = self.address.rpartition(":")[0]
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        if not self.was_dialed:
            self._owner.connected(self)
        elif self._door is None:
            self._begin()
        else:
            transport.write(self._door.take_output())

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        if self._door is not None:
            data = self._pass(self._door, data)
            if not data:
                return
        if self.has_begun:
            self._owner.received(self, data)
        elif not self.was_dialed:
            self._look_at(data)

    def pause_writing(self) -> None:
        self._is_held_up(is_held_up=True)

    def resume_writing(self) -> None:
        self._is_held_up(is_held_up=False)

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over = True
        if self.number is not None and self.has_begun:
            self._owner.ended(self.number)
        else:
            self.failure = self.failure or str(error or "closed by the member")
            self._owner.gone(self)
        self._settle_ready()

    def deadline(self) -> float:
        return self._proof_by

    def expire(self, now: float) -> None:
        del now
        self._owner.turn_away(self, f"it did not begin as a member within {PROOF_SECONDS:g} s")

    def write(self, output: Sequence[bytes]) -> None:
        if self._transport is None or self._is_over:
            return
        if self._door is None:
            self._transport.writelines(output)
        else:
            self._transport.writelines(self._door.encrypt([b"".join(output)]))

    def close(self) -> None:
        """What was written still leaves, if the peer takes it soon."""
        if self._transport is not None and not self._is_over:
            self._is_over = True
            self._transport.close()
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)

    def abort(self) -> None:
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------------ before the core knows it

    def _pass(self, door: Door, data: bytes) -> bytes:
        """Through TLS, if there is any."""
        assert self._transport is not None
        try:
            data = door.receive(data)
        except DoorError as error:
            self._fail(door, self._owner.security.explain(error))
            return b""
        said = door.take_output()
        if said:
            self._transport.write(said)
        if door.is_plain:
            self._door = None
        elif door.lets_output_pass and not self._has_sealed:
            self._seal(door)
        if self._channel_proof is not None:
            data = self._check(self._channel_proof, door, data)
        if door.is_finished:
            self.abort()
            return b""
        return data

    def _seal(self, door: Door) -> None:
        """TLS has begun: both ends prove that it is their connection, and nobody else's."""
        self._has_sealed = True
        security = self._owner.security
        security.refresh()
        proof = security.channel_proof(door.channel, was_dialed=self.was_dialed)
        assert proof is not None, "members have a secret"
        self._channel_proof = proof
        self.write([proof.begin()])

    def _check(self, proof: ChannelProof, door: Door, data: bytes) -> bytes:
        """What came behind the proof."""
        try:
            data = proof.receive(data)
        except RemoteError as error:
            self._fail(door, str(error))
            return b""
        if proof.is_done:
            self._channel_proof = None
            if self.was_dialed:
                self._begin()
        return data

    def _fail(self, door: Door, cause: str) -> None:
        self.failure = cause
        if self._transport is not None:
            self._transport.write(door.take_output())  # an alert may say why
        if self.was_dialed:
            self.close()
        else:
            self._owner.turn_away(self, cause)

    def _look_at(self, data: bytes) -> None:
        """Whether it begins as a member does."""
        self._first += data
        if not OPENING.startswith(self._first[: len(OPENING)]):
            self._owner.turn_away(self, NO_MEMBER)
        elif len(self._first) >= len(OPENING):
            data, self._first = self._first, b""
            self._begin()
            if self.has_begun:
                self._owner.received(self, data)

    def _begin(self) -> None:
        self.has_begun = self._owner.began(self)
        if not self.has_begun:
            self.abort()
        self._settle_ready()

    def _settle_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def _is_held_up(self, *, is_held_up: bool) -> None:
        if self.number is not None and self.has_begun and not self._is_over:
            self._owner.held_up(self.number, is_held_up=is_held_up)
