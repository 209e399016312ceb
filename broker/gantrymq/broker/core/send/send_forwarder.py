"""Forwards sends that reach a non-master member to the master, and redirects their clients.

    parked -> forwarded to the master -> its answer passed on -> connection closed, or GO_AWAY
           -> no master within PARK_SECONDS                  -> closed without an answer
           -> this member becomes master: the send is carried out here, nothing is closed

Reason: Java producers retry immediately, up to three times, at the addresses they know. A refusal
would use up their retries before the name servers know the new master. Only a broken connection
makes them ask the name servers at once.

GO_AWAY: where the group has one address, a Java client that knows GO_AWAY opens another connection
to that address, repeats the send that was answered with it, and still receives its other answers on
the old connection. Such connections are not closed, because of a race in Java's client: sends in
flight on a broken connection may fail only at their timeout. But 5.3.3 throws on the second GO_AWAY
to one send, and the address may lead to this member for a while. The first sends of each connection
are therefore forwarded, for STAY_SECONDS.

A forwarded send carries its client's address in the field BORN_HOST, which becomes the message's
born host, with a proof by the member (forward_proofs.py). Invariant: a forwarded send is not
forwarded again. Bounds: PARKED_MAX sends of PARKED_BYTES_MAX in total. A send beyond them, or after
its connection's time is over, closes the connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.access import forward_proofs
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import (
    ANSWERED_LATER,
    SILENT,
    Answer,
    Channel,
    CloseChannel,
    Effect,
    Outcome,
    Replies,
    Reply,
    Request,
    Silent,
)
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.remoting.refusal import going_away
from gantrymq.store.record.put_status import UNAVAILABLE
from gantrymq.store.record.send_fields import BORN_HOST
from gantrymq.wire.codes import LanguageCode, RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.version import V5_3_1

# About the duration of a failover; a producer waits for three seconds.
PARK_SECONDS: Final = 2.0

# A producer's timeout, which began before this one.
ASK_SECONDS: Final = 3.0

# About the time until a Kubernetes Service leads to the new master; each further GO_AWAY costs a
# connection.
STAY_SECONDS: Final = 0.3

PARKED_MAX: Final = 10_000
PARKED_BYTES_MAX: Final = 32 << 20


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
"""Requests after which a producer takes its message as persisted."""

# The producer's signature. The connection to the master signs with this broker's own account.
_SIGNATURE: Final = frozenset({"AccessKey", "Signature", "SecurityToken"})


@final
class SendForwarder:
    """Forwards sends for one broker."""

    __slots__ = (
        "_arrivals",
        "_bytes",
        "_channels",
        "_has_logged",
        "_master",
        "_parked",
        "_state",
        "_under_way",
    )

    def __init__(self, state: State) -> None:
        self._arrivals: dict[Channel, float] = {}
        """When the first send arrived on each connection whose client understands GO_AWAY."""
        self._bytes = 0
        self._channels: dict[Channel, tuple[int, float]] = {}
        """By connection, how many of its sends are held here, and until when more are accepted."""
        self._has_logged = False
        self._master = ""
        self._parked: dict[Request, float] = {}
        self._state = state
        self._under_way: dict[Request, None] = {}

    def __len__(self) -> int:
        return len(self._parked) + len(self._under_way)

    def must_forward(self, request: Request) -> bool:
        """Whether another broker has to carry out this send, now or soon."""
        state = self._state
        identity, is_paused = state.identity, state.is_paused
        is_ours = identity.is_master and not is_paused
        return identity.is_elected and not is_ours and request.command.code in SENDS

    def has_send_of(self, channel: Channel) -> bool:
        """Whether a send of this connection is held here; the connection is closed after it."""
        return channel in self._channels

    def can_redirect(self, channel: Channel) -> bool:
        """Whether the connection's client moves to the new master on GO_AWAY."""
        state = self._state
        client = state.clients.client_of(channel)
        has_group_address = bool(state.identity.group_address)
        return has_group_address and client is not None and knows_go_away(client)

    def close_producers(self, channels: Iterable[Channel], *, is_handover: bool) -> None:
        """Close the connections of producers, since this broker is not master any more.

        The connections are closed before the pending answers are sent. A connection stays open if
        it waits only for the new master's answer to a forwarded send, or, after a complete handover
        (`is_handover`), if its client moves on GO_AWAY.
        """
        effects = self._state.effects
        pending = effects.take()
        answered = {_producer_of(effect) for effect in pending}
        for channel in channels:
            stays = self.has_send_of(channel) or (is_handover and self.can_redirect(channel))
            if channel in answered or not stays:
                effects.add(CloseChannel(channel, "this broker is not master any more"))
        for effect in pending:
            effects.add(effect)

    def take(self, request: Request) -> Outcome:
        """Hold the send for the master, or refuse it if another member forwarded it to this one."""
        state = self._state
        if BORN_HOST in (request.command.ext or {}):
            return _not_master(state)
        if self._must_move(request):
            return Reply(going_away())
        channel, size = request.channel, len(request.command.body)
        count, until = self._channels.get(channel, (0, state.now + PARK_SECONDS))
        if state.now >= until or len(self) >= PARKED_MAX or self._bytes + size > PARKED_BYTES_MAX:
            state.effects.add(CloseChannel(channel, "too many sends wait for a master"))
            return SILENT
        self._log_once()
        self._channels[channel] = count + 1, until
        self._bytes += size
        self._parked[request] = state.now + PARK_SECONDS
        if self._master:
            self._forward(request)
        return ANSWERED_LATER

    def master_is(self, address: str) -> None:
        """Set the address of the master; "" when it is unknown."""
        self._master = address
        if self._master:
            for request in list(self._parked):
                self._forward(request)

    def take_parked(self) -> list[Request]:
        """Return and drop the held sends, because this broker is master now."""
        self._arrivals.clear()
        parked = list(self._parked)
        for request in parked:
            del self._parked[request]
            self._leave(request)
        return parked

    def carry_out(
        self, parked: Iterable[Request], handle: Callable[[Request, float, int], Outcome]
    ) -> None:
        """Let the broker handle sends that `take_parked` returned, and answer them."""
        state = self._state
        for request in parked:
            outcome = handle(request, state.now, state.wall_ms)
            if isinstance(outcome, Reply):
                state.effects.answer(request, outcome.command)
            elif isinstance(outcome, Silent):
                state.effects.release(request)

    # ------------------------------------------------------------------ one send

    def _forward(self, request: Request) -> None:
        del self._parked[request]
        self._under_way[request] = None
        self._state.task_runner.start(
            tasks.ask_broker(self._master, self._forwarded(request), ASK_SECONDS),
            partial(self._answered, request),
            lambda error: self._state.effects.broken(
                "forwarding a send raised an exception", error
            ),
        )

    def _forwarded(self, request: Request) -> Command:
        """The send for the master. The proof is added last because it covers the address."""
        command = request.command
        ext = unsigned(command.ext)
        ext[BORN_HOST] = request.channel.peer
        forwarded = Command(command.code, ext=ext, body=command.body)
        forward_proofs.add(forwarded, self._state.group_secret, self._state.identity)
        return forwarded

    def _answered(self, request: Request, answer: object) -> None:
        """Pass the master's answer on. Without an answer the outcome of the send is unknown."""
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
            reason = "this broker is not master; the send was forwarded to the master"
            effects.add(CloseChannel(request.channel, reason))

    def _must_move(self, request: Request) -> bool:
        """Whether the connection had its time and there is a master to go to."""
        if not self._knows_go_away(request.command):
            return False
        now = self._state.now
        came_at = self._arrivals.setdefault(request.channel, now)
        return bool(self._master) and now >= came_at + STAY_SECONDS

    def _knows_go_away(self, command: Command) -> bool:
        """Whether the client opens another connection on GO_AWAY, to an address that it does not
        choose."""
        has_group_address = bool(self._state.identity.group_address)
        return has_group_address and not command.is_oneway and knows_go_away(command)

    def _leave(self, request: Request) -> bool:
        """Drop a send; return whether it was its connection's last."""
        channel = request.channel
        self._bytes -= len(request.command.body)
        count, until = self._channels.get(channel, (1, 0.0))
        if count > 1:
            self._channels[channel] = count - 1, until
            return False
        self._channels.pop(channel, None)
        return True

    def _log_once(self) -> None:
        if not self._has_logged:
            self._has_logged = True
            self._state.effects.info(
                f"forwarding sends to the master own_address={self._state.identity.address}"
                f" timeout={PARK_SECONDS:.0f}s: this broker is not master. It asks producers to"
                " reconnect, or closes their connections, so that they find the master"
            )

    # ------------------------------------------------------------------ the periodic service

    def deadline(self) -> float:
        return next(iter(self._parked.values()), NEVER)

    def expire(self, now: float) -> None:
        """Close the connections of sends for which no master appeared in time."""
        late = [request for request, until in self._parked.items() if until <= now]
        for request in late:
            del self._parked[request]
            self._state.effects.release(request)
            if self._leave(request):
                reason = "this broker is not master, and no master is known"
                self._state.effects.add(CloseChannel(request.channel, reason))

    def closed(self, channel: Channel) -> None:
        """Drop the sends of a closed connection; forwarded ones are still carried out by the
        master."""
        self._arrivals.pop(channel, None)
        if self._channels.pop(channel, None) is None:
            return
        for request in (*self._parked, *self._under_way):
            if request.channel is channel:
                self._parked.pop(request, None)
                self._under_way.pop(request, None)
                self._bytes -= len(request.command.body)
                self._state.effects.release(request)


def _producer_of(effect: Effect) -> Channel | None:
    """The connection to which the effect sends the answer to a send; None for other effects."""
    if isinstance(effect, Replies):
        return effect.channel
    if isinstance(effect, Answer) and effect.request.command.code in SENDS:
        return effect.request.channel
    return None


def knows_go_away(client: Command | Client) -> bool:
    """Whether the client opens another connection on GO_AWAY."""
    return client.language == LanguageCode.JAVA and client.version > V5_3_1


def unsigned(ext: Mapping[str, str] | None) -> dict[str, str]:
    """The request's fields without its signature."""
    return {name: value for name, value in (ext or {}).items() if name not in _SIGNATURE}


def _not_master(state: State) -> Reply:
    return refused(
        ResponseCode.SERVICE_NOT_AVAILABLE,
        f"{UNAVAILABLE}{state.identity.address} is not master any more, although another member"
        " forwarded the send to it",
    )
