"""Sends that reach a member which is not master: they go to the one that is, and their clients are
led there.

    parked -> relayed to the master -> its answer passed on -> the connection is closed, or told
           -> nobody is master within PARK_SECONDS          -> it is closed without an answer
           -> we are: carried out here, and nothing is closed

Why so: producers of Java ask again at once, up to three times, by the addresses they know; told no,
they would have used up their tries before name servers tell of the new master. And only a broken
connection has them look there at once.

Told: where the group has one address, a client of Java that knows GO_AWAY makes another connection
to it, sends again what was answered so, and has its other answers by the old one. So nothing of it
is closed: by a race of Java's, sends under way on a connection that breaks may hear of it when
their time is over. But 5.3.3 throws on the second GO_AWAY to one send, and the address may lead
here for a while yet: so the first sends of each connection are relayed, for STAY_SECONDS.

A relayed send names its client in the field BORN_HOST, so that the message is born at that address,
and proves that a member says so (relay_proofs.py). Invariant: it is not relayed again. Bounds:
PARKED_MAX sends, of PARKED_BYTES_MAX; what comes beyond that, or after its connection has had its
time, ends the connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, final

from gantrymq.broker.core import relay_proofs, steps
from gantrymq.broker.core.clients import Client
from gantrymq.broker.core.messages import (
    HELD,
    SILENT,
    Channel,
    CloseChannel,
    Outcome,
    Reply,
    Request,
)
from gantrymq.broker.core.responses import refused
from gantrymq.ha.proofs import GroupSecret
from gantrymq.remoting.refusal import going_away
from gantrymq.store.put import UNAVAILABLE
from gantrymq.store.send_fields import BORN_HOST
from gantrymq.wire.codes import LanguageCode, RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.version import V5_3_1

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# A failover takes about as long, and a producer waits for three.
PARK_SECONDS: Final = 2.0

# A producer's patience, which began before ours.
ASK_SECONDS: Final = 3.0

# About as long as a Service takes to lead elsewhere; each more of them costs a connection.
STAY_SECONDS: Final = 0.3

PARKED_MAX: Final = 10_000
PARKED_BYTES_MAX: Final = 32 << 20

NEVER: Final = float("inf")

SENDS: Final = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.END_TRANSACTION,
        RequestCode.RECALL_MESSAGE,
    }
)
"""What a producer is told was stored for good."""

# The dialing side signs by its own account; these were the producer's, of other fields.
_SIGNATURE: Final = frozenset({"AccessKey", "Signature", "SecurityToken"})


@final
class Relays:
    """Of one broker."""

    __slots__ = (
        "_arrivals",
        "_bytes",
        "_channels",
        "_has_said",
        "_master",
        "_parked",
        "_state",
        "_under_way",
        "secret",
    )

    def __init__(self, state: State) -> None:
        self._arrivals: dict[Channel, float] = {}
        """When the first send came of each connection that is told to go away, not closed."""
        self._bytes = 0
        self._channels: dict[Channel, tuple[int, float]] = {}
        """How many of a connection's sends are with us, and until when more are taken."""
        self._has_said = False
        self._master = ""
        self._parked: dict[Request, float] = {}
        self._state = state
        self._under_way: dict[Request, None] = {}
        self.secret: GroupSecret | None = None
        """The group's, by which members prove to each other what they relay; None: it has none."""

    def __len__(self) -> int:
        return len(self._parked) + len(self._under_way)

    def wants(self, request: Request) -> bool:
        """Whether it is a send that another broker has to carry out, or will have to soon."""
        state = self._state
        identity, is_paused = state.identity, state.reign.is_paused
        is_ours = identity.is_master and not is_paused
        return identity.is_elected and not is_ours and request.command.code in SENDS

    def holds(self, channel: Channel) -> bool:
        """Whether a send of this connection is with us: it is closed behind it."""
        return channel in self._channels

    def leads(self, channel: Channel) -> bool:
        """Whether its client goes to the new master when it is told to."""
        state = self._state
        client = state.clients.client_of(channel)
        is_led = bool(state.identity.group_address)
        return is_led and client is not None and knows_go_away(client)

    def take(self, request: Request) -> Outcome:
        """Park it, or say no to one that was relayed to us."""
        state = self._state
        if BORN_HOST in (request.command.ext or {}):
            return _not_master(state)
        if self._is_to_go(request):
            return Reply(going_away())
        channel, size = request.channel, len(request.command.body)
        count, until = self._channels.get(channel, (0, state.now + PARK_SECONDS))
        if state.now >= until or len(self) >= PARKED_MAX or self._bytes + size > PARKED_BYTES_MAX:
            state.effects.add(CloseChannel(channel, "too many sends wait for a master"))
            return SILENT
        self._say()
        self._channels[channel] = count + 1, until
        self._bytes += size
        self._parked[request] = state.now + PARK_SECONDS
        if self._master:
            self._relay(request)
        return HELD

    def master_is(self, address: str) -> None:
        """Who takes sends now, as far as is known."""
        self._master = address
        if self._master:
            for request in list(self._parked):
                self._relay(request)

    def take_parked(self) -> list[Request]:
        """We are master: those that waited for one."""
        self._arrivals.clear()
        parked = list(self._parked)
        for request in parked:
            del self._parked[request]
            self._leave(request)
        return parked

    # ------------------------------------------------------------------ one send

    def _relay(self, request: Request) -> None:
        del self._parked[request]
        self._under_way[request] = None
        self._state.works.start(
            steps.ask_broker(self._master, self._relayed(request), ASK_SECONDS),
            partial(self._answered, request),
            lambda error: self._state.effects.broken("a send could not be relayed", error),
        )

    def _relayed(self, request: Request) -> Command:
        """As the master gets it; the proof is added last, for it covers the address."""
        command = request.command
        ext = unsigned(command.ext)
        ext[BORN_HOST] = request.channel.peer
        relayed = Command(command.code, ext=ext, body=command.body)
        relay_proofs.add(relayed, self.secret, self._state.identity)
        return relayed

    def _answered(self, request: Request, answer: object) -> None:
        """Pass it on. Without one nobody knows whether the message is stored."""
        if request not in self._under_way:
            return  # its connection is gone
        del self._under_way[request]
        effects = self._state.effects
        if isinstance(answer, Command) and answer.code != ResponseCode.SERVICE_NOT_AVAILABLE:
            passed_on = Command(answer.code, ext=answer.ext, remark=answer.remark, body=answer.body)
            effects.answer(request, passed_on)
        elif self._knows_go_away(request.command):
            effects.answer(request, going_away())
        else:
            effects.release(request)
        if self._leave(request) and not self._knows_go_away(request.command):
            reason = "this broker is not master, and the send went to the one that is"
            effects.add(CloseChannel(request.channel, reason))

    def _is_to_go(self, request: Request) -> bool:
        """Whether its connection has stayed long enough, and there is somebody to go to."""
        if not self._knows_go_away(request.command):
            return False
        now = self._state.now
        came_at = self._arrivals.setdefault(request.channel, now)
        return bool(self._master) and now >= came_at + STAY_SECONDS

    def _knows_go_away(self, command: Command) -> bool:
        """Whether its client makes another connection, and where that leads is not up to it."""
        is_led = bool(self._state.identity.group_address)
        return is_led and not command.is_oneway and knows_go_away(command)

    def _leave(self, request: Request) -> bool:
        """It is not with us any more; whether it was its connection's last."""
        channel = request.channel
        self._bytes -= len(request.command.body)
        count, until = self._channels.get(channel, (1, 0.0))
        if count > 1:
            self._channels[channel] = count - 1, until
            return False
        self._channels.pop(channel, None)
        return True

    def _say(self) -> None:
        if not self._has_said:
            self._has_said = True
            self._state.effects.info(
                f"sends reach {self._state.identity.address}, which is not master: they are"
                f" relayed to the one that is, within {PARK_SECONDS:.0f} s, and their clients are"
                " told to connect anew, or their connections are closed, so that they find it;"
                " told no, they would ask here again at once and give up"
            )

    # ------------------------------------------------------------------ the machine

    def deadline(self) -> float:
        return next(iter(self._parked.values()), NEVER)

    def expire(self, now: float) -> None:
        """Nobody became master in time."""
        late = [request for request, until in self._parked.items() if until <= now]
        for request in late:
            del self._parked[request]
            self._state.effects.release(request)
            if self._leave(request):
                reason = "this broker is not master, and nobody is"
                self._state.effects.add(CloseChannel(request.channel, reason))

    def closed(self, channel: Channel) -> None:
        """Whoever sent them does not wait any more; what is under way goes on without."""
        self._arrivals.pop(channel, None)
        if self._channels.pop(channel, None) is None:
            return
        for request in (*self._parked, *self._under_way):
            if request.channel is channel:
                self._parked.pop(request, None)
                self._under_way.pop(request, None)
                self._bytes -= len(request.command.body)
                self._state.effects.release(request)


def knows_go_away(client: Command | Client) -> bool:
    """Whether it makes another connection when it is told so."""
    return client.language == LanguageCode.JAVA and client.version > V5_3_1


def unsigned(ext: Mapping[str, str] | None) -> dict[str, str]:
    """The fields of a request that is passed on."""
    return {name: value for name, value in (ext or {}).items() if name not in _SIGNATURE}


def _not_master(state: State) -> Reply:
    return refused(
        ResponseCode.SERVICE_NOT_AVAILABLE,
        f"{UNAVAILABLE}{state.identity.address} is not master any more: the send was relayed here"
        " by a member that thought so",
    )
