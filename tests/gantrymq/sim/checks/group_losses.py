"""What the volumes of a simulated group have lost of its promises, and which losses are excused.

A loss is excused by the elections since the last master led, never for longer:

    unclean     the operator allowed it when the master was elected, and no member of the set could
                be elected that had not lost anything
    lost        each volume of the set lost the records, in one of the ways below, and the new
                master has as much as any volume whose log counted

    power       messages do not wait for disks, and the machine went down, or the volume came back
                without what was cached
    replaced    the volume was replaced, emptied or rolled back while the others of the set had all
                promises: from then on only its set counts for what was promised before
    lied        the disk said that it had what it had not, and lost its power: as if replaced

A master that was elected and ended before it led does not count: its set may never have had the
records. If the Lease was lost as well, the logs of all volumes count.

Volumes are told apart by their keys (group_volumes.py), not by the seats that they are mounted in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, final

from gantrymq.sim.checks.group_mirror import Mirror, Stored

Keys = frozenset[int]
NONE: Final[Keys] = frozenset()


@final
@dataclass(frozen=True, slots=True)
class Election:
    """An epoch that the Lease tells of; its master may end before it leads."""

    chosen_from: Keys
    """The set that the master was to be one of."""
    heard: Keys | None
    """Whose logs counted; None: those of all members."""
    is_unclean: bool = False
    """Whether the operator allowed a loss, and a member that may lack something was elected."""


@final
class Losses:
    """Those of one group; `mirror` is what is known of each volume's log."""

    def __init__(self, mirrors: dict[int, Mirror], mirror: Callable[[int], Mirror]) -> None:
        self.elections: list[Election] = []
        """The last one, and those before it that no member has led since."""
        self.gone: set[tuple[int, bytes]] = set()
        """Where they began, and the keys, of messages that were promised and lost, and excused."""
        self.promised_in: dict[int, Keys] = {}
        """The set that had each record of the history when it was promised."""
        self._lost: dict[tuple[int, int], int] = {}
        """What was promised and lost, and excused: the end and the digest of each record, and the
        epoch that began without it."""
        self._mirror = mirror
        self._mirrors = mirrors
        self._taken: dict[int, dict[int, int]] = {}
        """What volumes had and lost: the ends and digests of records. Forgotten once the log goes
        on, and as far again; that it starts with as much may be what is damaged."""

    # ------------------------------------------------------------------ what volumes lost

    def take(self, key: int, gone: Iterable[Stored]) -> None:
        """These records were on it, and are not any more."""
        taken = self._taken.setdefault(key, {})
        taken.update((each.end, each.digest) for each in gone)

    def replaced(self, in_sync: Keys) -> None:
        """A volume of this set is another one now: a member outside of it does not count for what
        was promised before."""
        for end, members in self.promised_in.items():
            self.promised_in[end] = members & in_sync

    def appended(self, key: int, end: int) -> None:
        """Its log goes on, and is on its disk, where that is waited for, up to this end."""
        taken = self._taken.get(key)
        if taken and end >= max(taken):
            del self._taken[key]

    def has_taken(self, key: int) -> bool:
        """Whether something is missing that it had."""
        return bool(self._taken.get(key))

    def is_taken(self, key: int, record: Stored) -> bool:
        """Whether it had all up to there, and lost it."""
        return self._taken.get(key, {}).get(record.end) == record.digest

    def rename(self, key: int, now: int) -> None:
        """This volume has another key from now on, in the place of one that may have lost something
        too."""
        self._taken.setdefault(now, {}).update(self._taken.pop(key, {}))
        for end, members in self.promised_in.items():
            if key in members:
                self.promised_in[end] = members - {key} | {now}

    # ------------------------------------------------------------------ elections

    @property
    def are_unclean(self) -> bool:
        """Whether a member that may lack something was elected since the last master led."""
        return any(each.is_unclean for each in self.elections)

    def elected(self, election: Election, *, is_led: bool) -> None:
        """`is_led`: the epoch before was."""
        if is_led:
            self.elections.clear()
        self.elections.append(election)

    def must_be_excused(
        self, history: dict[int, Stored], top: Stored, common: int, what: str
    ) -> str:
        """A master begins that lacks what lies behind `common`; which excuse it has."""
        if self.are_unclean:
            return "unclean"
        faults = [self._fault(election, history, top, common) for election in self.elections]
        assert faults, what
        assert not all(faults), f"{what}{faults[-1]}"
        for record in history.values():
            members = self.promised_in[record.end] if record.end > common else NONE
            left = [key for key in sorted(members) if not self.is_taken(key, record)]
            assert not left, (
                f"{what}; {record} was promised in {set(members)}, and member {left[0]} did not"
                " lose it"
            )
        return "lost"

    def _fault(
        self, election: Election, history: dict[int, Stored], top: Stored, common: int
    ) -> str:
        """Why that one excuses no loss of what lies behind `common`; "" where it does."""
        for key in sorted(election.chosen_from):
            if not self.is_taken(key, top):
                return f"; member {key} did not lose it"
        heard = self._mirrors.keys() if election.heard is None else election.heard
        for key in sorted(heard):
            other = common_end(history, self._mirror(key))
            if other > common:
                return f", and member {key} has {other}"
        return ""

    # ------------------------------------------------------------------ what is lost

    def forget(self, lost: Iterable[Stored], epoch: int) -> None:
        """These were lost, and that is excused."""
        for each in lost:
            self._lost[each.end, each.digest] = epoch
            self.gone.add((each.start, each.key))

    def goes_through(
        self, mirror: Mirror, record: Stored, history: dict[int, Stored], copied: int
    ) -> bool:
        """Whether up to there the log is one that was lost, that no member has promised again, and
        that no master later than `copied` has looked at."""
        for (end, digest), epoch in self._lost.items():
            own, promised = mirror.up_to(end), history.get(end)
            is_ours = end <= record.end and own is not None and own.digest == digest
            is_gone = promised is None or promised.digest != digest
            if is_ours and is_gone and copied < epoch:
                return True
        return False


def common_end(history: dict[int, Stored], mirror: Mirror) -> int:
    """Up to where the history is in this log."""
    return max((end for end, each in history.items() if mirror.has(each)), default=0)
