"""Drives an incoming link through each row of the table of its phases."""

from __future__ import annotations

from gantrymq.fakes.groups.group import Follower, Master, Pipe
from gantrymq.ha.member.links.link_phase import LINK_PHASES, LinkPhase


def phases_of(master: Master, *, is_refused: bool = False) -> list[LinkPhase]:
    """The phases of a link, from the connection to its last change."""
    follower = Follower()
    if is_refused:
        follower.number = 9  # the group has no such member
        follower.dial()
    pipe = Pipe(follower, master)
    phases = [pipe.link.phase]
    for _ in range(6):
        pipe.up()
        phases.append(pipe.link.phase)
        master.round()
        pipe.down()
        phases.append(pipe.link.phase)
    return [each for at, each in enumerate(phases) if at == 0 or each is not phases[at - 1]]


def test_accepted_follower_goes_from_handshake_to_following() -> None:
    # The master accepts a member in the same call in which the member identifies itself.
    assert phases_of(Master()) == [LinkPhase.HANDSHAKE, LinkPhase.FOLLOWING]


def test_refused_follower_is_sent_the_reason() -> None:
    assert phases_of(Master(), is_refused=True) == [
        LinkPhase.HANDSHAKE,
        LinkPhase.REFUSED,
        LinkPhase.REFUSAL_SENT,
    ]


def test_table_allows_these_two_ways_and_no_other() -> None:
    targets = {(row.source, row.target) for row in LINK_PHASES.rows}
    assert targets == {
        (LinkPhase.HANDSHAKE, LinkPhase.IDENTIFIED),
        (LinkPhase.IDENTIFIED, LinkPhase.FOLLOWING),
        (LinkPhase.IDENTIFIED, LinkPhase.REFUSED),
        (LinkPhase.REFUSED, LinkPhase.REFUSAL_SENT),
    }
