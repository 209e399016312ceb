"""What a member's log is, and what the member has seen: on its disk before it acts on it.

    the epochs     of our own log, and while we follow those of the master's, of which ours is a
                   beginning: each counts from where our log has reached its start
    the highest    epoch that was seen anywhere; nothing is appended in a lower one
    wholeness      a log that is copied anew, or whose machine went down with it, or whose disk knew
                   of no epoch when others did, may lack what was acknowledged, until it has caught
                   up with a master; what was not known to be on the disk when the machine went down
                   is held against the master's log, or becomes the beginning of the epoch that we
                   begin with it
    identity       which disk this is, and of which group; the group is taken when it first follows
                   or leads
    the Lease      as it was seen last: one that was set back is told by it

Invariant: nothing here says more than the disk does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.ha import epoch_file, epochs, identity, kept, lease_copy
from gantrymq.ha.epochs import Epochs
from gantrymq.ha.handshake import Standing
from gantrymq.ha.identity import Identity
from gantrymq.ha.lease import Lease, Mark
from gantrymq.store import log_cut, marks, reserve
from gantrymq.store.engine import Store
from gantrymq.store.log_cut import Wish

_T = TypeVar("_T")


def note_doubt(disk: Disk, boot: str) -> None:
    """Before the store is opened. Where the machine went down, that writes again what may be
    damaged and calls it known: a start that failed behind it would leave nothing to doubt."""
    known = kept.read(disk)
    if known.boot in ("", boot):
        return
    sure_to = marks.log_position(disk)
    if known.sure_to is None or sure_to < known.sure_to:
        _save(disk, kept.write, replace(known, sure_to=sure_to), lambda: reserve.free(disk))


def _save(
    disk: Disk, write: Callable[[Disk, _T], None], content: _T, make_room: Callable[[], bool]
) -> None:
    """On a full disk in what is kept for such: who has to know of a master must not end."""
    try:
        write(disk, content)
    except DiskError as error:
        if error.failure is not DiskFailure.NO_SPACE or not make_room():
            raise
        write(disk, content)


@final
class Chronicle:
    """Of one store, which is open."""

    __slots__ = (
        "_disk",
        "_epochs",
        "_kept",
        "_now_boot",
        "_store",
        "_sure_to",
        "identity",
        "lease",
    )

    def __init__(self, disk: Disk, store: Store, boot: str) -> None:
        """`boot` is another one after each start of the machine, and each mount of the disk."""
        self._disk = disk
        self._epochs = epoch_file.read(disk)
        self.identity = identity.read(disk) or Identity()
        self._kept = kept.read(disk)
        self.lease = lease_copy.read(disk)
        """The last one that was seen, as far as it says more than that it was renewed."""
        self._now_boot = boot
        self._store = store
        now = replace(self._kept, sure_to=self._doubt(0))
        if self._kept.boot not in ("", boot):
            # A stop that is clean does not bring back what the machine took with it before.
            is_partial = self._kept.is_partial or not store.report.is_clean
            sure_to = self._doubt(store.report.rewritten_bytes)
            now = replace(now, boot=boot, is_partial=is_partial, sure_to=sure_to)
        if now != self._kept:
            self._keep(now)
        self._sure_to = self._kept.sure_to

    def _doubt(self, last_bytes: int) -> int | None:
        """From where on the log is doubtful, when so many at its end are."""
        end = self._store.log.end
        known = self._kept.sure_to
        sure_to = min(end - last_bytes, end if known is None else known)
        return sure_to if sure_to < end else None

    @property
    def epoch(self) -> int:
        """The highest that was seen."""
        return self._kept.epoch

    @property
    def is_new(self) -> bool:
        """Whether this member has never seen any."""
        return self._kept.epoch == 0

    @property
    def is_electable(self) -> bool:
        """Whether all that this member has acknowledged is in its log."""
        return not self._kept.is_partial

    @property
    def sure_end(self) -> int:
        """Up to here our log is what was written there, as far as anybody can tell."""
        return self._store.log.end if self._sure_to is None else self._sure_to

    def standing(self) -> Standing:
        """What is said of it to others."""
        log = self._store.log
        reached = tuple(each for each in self._epochs if each.start <= log.end)
        return Standing(
            self.epoch,
            reached,
            log.start,
            log.end,
            self.is_electable,
            self._sure_to,
            self.identity.disk,
            self.identity.group,
            Mark() if self.lease is None else self.lease.mark,
        )

    @property
    def is_of_no_group(self) -> bool:
        """Whether nothing on this disk has a group yet: it may join any."""
        return not (self.identity.group or self._epochs or self._kept.epoch)

    # ------------------------------------------------------------------ who we are

    def identify(self, disk: str) -> None:
        """This is our disk's UUID, unless it has one."""
        if not self.identity.disk:
            self._identify(Identity(disk, self.identity.group))

    def join(self, group: str) -> None:
        """We follow, or are, a master of this group; `group` may be "", of an older version."""
        if group and not self.identity.group:
            self._identify(replace(self.identity, group=group))

    def _identify(self, now: Identity) -> None:
        self._save(identity.write, now)
        self.identity = now

    def note_lease(self, lease: Lease) -> None:
        """It was read or written, and is believed."""
        if lease_copy.is_new(lease, self.lease):
            self._save(lease_copy.write, lease)
            self.lease = lease

    # ------------------------------------------------------------------ what is seen

    def see(self, epoch: int) -> None:
        """Somebody is, or is to be, master of it. A disk that knew of none may be a new one, of a
        member that the lease counts on."""
        known = self._kept
        if epoch > known.epoch:
            boot, is_partial = known.boot or self._now_boot, known.is_partial or self.is_new
            self._keep(replace(known, epoch=epoch, boot=boot, is_partial=is_partial))

    def begin(self, epoch: int) -> None:
        """We are master of it, and the log's next record is its first; but for what nobody is sure
        of: others who have it as well have it from us from now on."""
        log = self._store.log
        start = max(log.start, self.sure_end)
        self.see(epoch)
        self._write(epochs.begun(epochs.trimmed(self._epochs, log.start), epoch, start))
        self.caught_up()  # nobody has more who may still be asked

    def adopt(self, theirs: Epochs) -> None:
        """Our log is the beginning of a master's, whose epochs these are."""
        if theirs != self._epochs:
            self._write(theirs)

    def caught_up(self) -> None:
        """Our log has all that the master's has."""
        self._sure_to = None
        whole = replace(self._kept, boot=self._now_boot, is_partial=False, sure_to=None)
        if whole != self._kept:
            self._keep(whole)

    def compared(self, position: int) -> None:
        """Up to here our log is what the master's is."""
        self._sure_to = position if position < self._store.log.end else None
        if self._sure_to is None:
            self._keep(replace(self._kept, sure_to=None))

    # ------------------------------------------------------------------ what the next start does

    def cut(self, position: int) -> None:
        """Our log goes on with the master's from here."""
        self._save(log_cut.wish, Wish(position, epoch=self.epoch))

    def copy_anew(self, shared: int) -> None:
        """Our log is the master's up to here at most, and the master has no more what comes
        next."""
        self._keep(replace(self._kept, is_partial=True))
        self._write(())
        self._save(log_cut.wish, Wish(0, shared, self.epoch))

    # ------------------------------------------------------------------ files

    def _keep(self, now: kept.Kept) -> None:
        self._save(kept.write, now)
        self._kept = now

    def _write(self, now: Epochs) -> None:
        self._save(epoch_file.write, now)
        self._epochs = now

    def _save(self, write: Callable[[Disk, _T], None], content: _T) -> None:
        _save(self._disk, write, content, self._store.watch.out_of_space)
