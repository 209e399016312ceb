"""Consumers that take this member for their master: the group's address led here when they came.

It does for as long as a Service takes to notice who leads, and connections stay where they were
led. What is read here is right; but how far a group came is the master's to know, whose table would
undo a commit here within a second, and after the next failover the group would be given again all
that it has had since.

    a commit here -> passed on to the master, in whose words it is answered; with a pull it is not,
                     for it comes by itself as well
                  -> its connection is led away: Java's clients that know GO_AWAY are told so by
                     the next pull, STAY_SECONDS after the first commit; others are closed by then,
                     and pulls that wait are answered before

Only who takes us for the master commits here: a consumer that was sent to a slave to read tells the
master, and its pulls do not commit. Where members have addresses of their own nobody is led: new
ones are told by name servers. Closing is what is left for those that do not know better: a client
of Java may lose requests with a connection that breaks, and asks again after their time, which for
pulls is 30 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gantrymq.broker.core import steps
from gantrymq.broker.core.messages import Channel, CloseChannel, Outcome, Reply, Request
from gantrymq.broker.core.relays import ASK_SECONDS, STAY_SECONDS, knows_go_away, unsigned
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.steps import Steps
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

NEVER: Final = float("inf")


@final
class Strays:
    """Of one broker."""

    __slots__ = ("_came_at", "_closed_at", "_state")

    def __init__(self, state: State) -> None:
        self._came_at: dict[Channel, float] = {}
        """When those who know GO_AWAY committed here first."""
        self._closed_at: dict[Channel, float] = {}
        """When the others are closed."""
        self._state = state

    def wants(self) -> bool:
        """Whether commits are for somebody else."""
        state = self._state
        identity = state.identity
        return identity.is_elected and not identity.is_master and bool(state.following.master)

    def pass_on(self, request: Request) -> Steps[Outcome]:
        """A commit, to the master."""
        self.note(request)
        master, command = self._state.following.master, request.command
        passed_on = Command(command.code, ext=unsigned(command.ext), body=command.body)
        answer = yield from steps.ask_broker(master, passed_on, ASK_SECONDS)
        if isinstance(answer, Command):
            return Reply(Command(answer.code, ext=answer.ext, remark=answer.remark))
        text = f"the master {master} was not told of the offset: {answer}; commit it again"
        return refused(ResponseCode.SYSTEM_BUSY, text)

    def note(self, request: Request) -> None:
        """Its connection commits here."""
        state, channel = self._state, request.channel
        if not state.identity.group_address:
            return
        if knows_go_away(request.command):
            self._came_at.setdefault(channel, state.now)
        else:
            self._closed_at.setdefault(channel, state.now + STAY_SECONDS)

    def is_to_go(self, request: Request) -> bool:
        """Whether this pull is told so."""
        if not self._came_at or not self.wants() or request.command.is_oneway:
            return False
        came_at = self._came_at.get(request.channel, NEVER)
        return self._state.now >= came_at + STAY_SECONDS and knows_go_away(request.command)

    # ------------------------------------------------------------------ the machine

    def deadline(self) -> float:
        return next(iter(self._closed_at.values()), NEVER)

    def expire(self, now: float) -> None:
        """Close them; who commits here while nobody leads may as well stay."""
        state = self._state
        late = [channel for channel, at in self._closed_at.items() if at <= now]
        for channel in late:
            del self._closed_at[channel]
            if self.wants():
                state.holds.answer(channel)
                reason = f"offsets are the master's to know, which is {state.following.master}"
                state.effects.add(CloseChannel(channel, reason))

    def closed(self, channel: Channel) -> None:
        self._came_at.pop(channel, None)
        self._closed_at.pop(channel, None)
