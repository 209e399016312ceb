"""Breaks rules of tables, offsets and name servers."""

from __future__ import annotations

from gantrymq.broker.core import commits
from gantrymq.ha.member_followers import MemberFollowers
from gantrymq.namesrv.core.brokers import MASTER_ID
from gantrymq.namesrv.core.brokers import Member as Registered
from gantrymq.namesrv.core.liveness import Liveness
from gantrymq.namesrv.core.messages import Channel
from gantrymq.sim.group_mutations.patch import PATCH


def changes_are_answered_at_once() -> None:
    PATCH.setattr(MemberFollowers, "lacking", lambda self, number: ())


def offsets_are_not_clamped() -> None:
    PATCH.setattr(commits, "clamp", lambda state: None)


def an_old_channel_takes_the_new_master_with_it() -> None:
    closed = Liveness.closed

    def careless(self: Liveness, channel: Channel, now: float) -> list[Registered]:
        leaving = closed(self, channel, now)
        masters = [each for each in self._routes.members.values() if each.broker_id == MASTER_ID]
        return [*leaving, *(each for each in masters if each not in leaving)]

    PATCH.setattr(Liveness, "closed", careless)
