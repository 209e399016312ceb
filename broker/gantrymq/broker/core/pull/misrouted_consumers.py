"""Redirects consumers that reached this member through the group's address while it is not master.

The group's address leads here until its Service learns of the new master, and connections stay
where they were opened. Messages read here are correct. But offsets belong to the master, whose
table would overwrite a commit here within a second; after the next failover the group would get
everything since then again.

    a commit here -> forwarded to the master, whose answer is passed on; a commit within a pull is
                     dropped, because the consumer also commits by request
                  -> its connection is redirected: Java clients that know GO_AWAY get it at the next
                     pull, STAY_SECONDS after the first commit; other connections are closed by
                     then, after their held pulls have been answered

Only a consumer that takes this member for the master commits here: one that was sent to a slave for
reading commits at the master, and its pulls do not commit. Where members have addresses of their
own, nothing is redirected: name servers publish the new ones. Closing is the last resort: a Java
client may lose requests with a broken connection and repeats them after their timeout, which is
30 s for pulls.
"""

from __future__ import annotations

from typing import final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Channel, CloseChannel, Outcome, Reply, Request
from gantrymq.broker.core.pull.pull_request_hold import PullRequestHold
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.send.send_forwarder import (
    ASK_SECONDS,
    STAY_SECONDS,
    knows_go_away,
    unsigned,
)
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command


@final
class MisroutedConsumers:
    """Finds and redirects such consumers for one broker."""

    __slots__ = ("_came_at", "_closed_at", "_pull_request_hold", "_state")

    def __init__(self, state: State, pull_request_hold: PullRequestHold) -> None:
        self._pull_request_hold: PullRequestHold = pull_request_hold
        self._came_at: dict[Channel, float] = {}
        """By connection that knows GO_AWAY, the time of its first commit."""
        self._closed_at: dict[Channel, float] = {}
        """By other connection, when it is closed."""
        self._state = state

    def forwards_commits(self) -> bool:
        """Whether commits belong to another broker."""
        state = self._state
        identity = state.identity
        return identity.is_elected and not identity.is_master and bool(state.master_address)

    def forward(self, request: Request) -> Task[Outcome]:
        """Forward a commit to the master."""
        self.note_commit(request)
        master, command = self._state.master_address, request.command
        forwarded = Command(command.code, ext=unsigned(command.ext), body=command.body)
        answer = yield from tasks.ask_broker(master, forwarded, ASK_SECONDS)
        if isinstance(answer, Command):
            return Reply(Command(answer.code, ext=answer.ext, remark=answer.remark))
        text = f"forwarding the offset to the master {master} failed: {answer}; commit it again"
        return refused(ResponseCode.SYSTEM_BUSY, text)

    def note_commit(self, request: Request) -> None:
        """Record that this connection commits here."""
        state, channel = self._state, request.channel
        if not state.identity.group_address:
            return
        if knows_go_away(request.command):
            self._came_at.setdefault(channel, state.now)
        else:
            self._closed_at.setdefault(channel, state.now + STAY_SECONDS)

    def must_redirect(self, request: Request) -> bool:
        """Whether this pull is answered with GO_AWAY."""
        if not self._came_at or not self.forwards_commits() or request.command.is_oneway:
            return False
        came_at = self._came_at.get(request.channel, NEVER)
        return self._state.now >= came_at + STAY_SECONDS and knows_go_away(request.command)

    # ------------------------------------------------------------------ the periodic service

    def deadline(self) -> float:
        return next(iter(self._closed_at.values()), NEVER)

    def expire(self, now: float) -> None:
        """Close connections that are due; without a master, they may stay."""
        state = self._state
        late = [channel for channel, at in self._closed_at.items() if at <= now]
        for channel in late:
            del self._closed_at[channel]
            if self.forwards_commits():
                self._pull_request_hold.answer(channel)
                reason = (
                    f"this broker is not master: offsets are committed at {state.master_address}"
                )
                state.effects.add(CloseChannel(channel, reason))

    def closed(self, channel: Channel) -> None:
        self._came_at.pop(channel, None)
        self._closed_at.pop(channel, None)
