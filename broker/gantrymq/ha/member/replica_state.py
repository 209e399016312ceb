"""Tracks the state of a member's log and what the member has seen, fsynced before it is used.

    epochs         of this member's log. While it follows, they are the master's epochs, as its own
                   log is a prefix of the master's: each applies once the log has reached its start
    highest epoch  seen anywhere; nothing is appended in a lower one
    completeness   acknowledged messages may be missing until this member has caught up with a
                   master if its log is being copied again, its machine crashed, or its disk knew no
                   epoch when other members did. Bytes that were not known to be on the disk at a
                   machine crash are compared with the master's log; if this member becomes master,
                   its epoch begins with them
    identity       which disk this is and to which group it belongs; the group is set when the disk
                   first follows or leads
    Lease          as it was last seen, to detect one that was set back

Invariant: the state in memory is never ahead of the state on the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.ha.disk import epoch_file, epochs, identity
from gantrymq.ha.disk.epochs import Epochs
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.lease import lease_copy
from gantrymq.ha.lease.lease import Lease, Mark
from gantrymq.ha.member import persistent_state
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_truncation import TruncationRequest
from gantrymq.store.engine import Store
from gantrymq.store.files import flush_positions, reserve

_T = TypeVar("_T")


def note_doubtful_log(disk: Disk, boot: str) -> None:
    """Record which part of the log is doubtful after a machine crash. Called before the store is
    opened: opening rewrites bytes that may be damaged and counts them as flushed, so if the start
    then failed the next start would not know of the doubt."""
    known = persistent_state.read(disk)
    if known.boot in ("", boot):
        return
    sure_to = flush_positions.log_position(disk)
    if known.sure_to is None or sure_to < known.sure_to:
        _save(
            disk,
            persistent_state.write,
            replace(known, sure_to=sure_to),
            lambda: reserve.free(disk),
        )


def _save(
    disk: Disk, write: Callable[[Disk, _T], None], content: _T, make_room: Callable[[], bool]
) -> None:
    """Write a file; on a full disk release the reserved space and retry: a member that has to
    record a master must not fail."""
    try:
        write(disk, content)
    except DiskError as error:
        if error.failure is not DiskFailure.NO_SPACE or not make_room():
            raise
        write(disk, content)


@final
class ReplicaState:
    """The replica state of one open store, owned by its member."""

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
        """`boot` differs after each start of the machine and each mount of the disk."""
        self._disk = disk
        self._epochs = epoch_file.read(disk)
        self.identity = identity.read(disk) or Identity()
        self._kept = persistent_state.read(disk)
        self.lease = lease_copy.read(disk)
        """The last Lease seen, except for changes that are mere renewals."""
        self._now_boot = boot
        self._store = store
        now = replace(self._kept, sure_to=self._doubt(0))
        if self._kept.boot not in ("", boot):
            # A clean stop does not bring back what an earlier crash of the machine lost.
            is_partial = self._kept.is_partial or not store.report.is_clean
            sure_to = self._doubt(store.report.rewritten_bytes)
            now = replace(now, boot=boot, is_partial=is_partial, sure_to=sure_to)
        if now != self._kept:
            self._keep(now)
        self._sure_to = self._kept.sure_to

    def _doubt(self, last_bytes: int) -> int | None:
        """The position from which the log is doubtful, if its last `last_bytes` bytes are; None if
        no part is."""
        end = self._store.log.end
        known = self._kept.sure_to
        sure_to = min(end - last_bytes, end if known is None else known)
        return sure_to if sure_to < end else None

    @property
    def epoch(self) -> int:
        """The highest epoch seen."""
        return self._kept.epoch

    @property
    def is_new(self) -> bool:
        """Whether this disk has never seen an epoch."""
        return self._kept.epoch == 0

    @property
    def is_electable(self) -> bool:
        """Whether the log has everything that this member has acknowledged."""
        return not self._kept.is_partial

    @property
    def sure_end(self) -> int:
        """The end of the part of the log that is certainly undamaged."""
        return self._store.log.end if self._sure_to is None else self._sure_to

    def member_report(self) -> MemberReport:
        """What this member reports about its log to other members."""
        log = self._store.log
        reached = tuple(each for each in self._epochs if each.start <= log.end)
        return MemberReport(
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
        """Whether nothing on this disk belongs to a group: it may join any."""
        return not (self.identity.group or self._epochs or self._kept.epoch)

    # ------------------------------------------------------------------ identity

    def identify(self, disk: str) -> None:
        """Set the UUID of this disk, unless it has one."""
        if not self.identity.disk:
            self._identify(Identity(disk, self.identity.group))

    def join(self, group: str) -> None:
        """Set the group that this disk follows or leads in, unless it has one; "" comes from a
        member of an older version and is ignored."""
        if group and not self.identity.group:
            self._identify(replace(self.identity, group=group))

    def _identify(self, now: Identity) -> None:
        self._save(identity.write, now)
        self.identity = now

    def note_lease(self, lease: Lease) -> None:
        """Record a trusted Lease that was read or written."""
        if lease_copy.is_new(lease, self.lease):
            self._save(lease_copy.write, lease)
            self.lease = lease

    # ------------------------------------------------------------------ epochs and the log

    def see(self, epoch: int) -> None:
        """Record an epoch that has, or is about to have, a master. A disk that knew of no epoch may
        be a new disk of a member that the lease counts on, so its log counts as incomplete."""
        known = self._kept
        if epoch > known.epoch:
            boot, is_partial = known.boot or self._now_boot, known.is_partial or self.is_new
            self._keep(replace(known, epoch=epoch, boot=boot, is_partial=is_partial))

    def begin(self, epoch: int) -> None:
        """Record that this member is master of the epoch. The epoch begins with the log's next
        record, or where the doubtful part of the log begins: members that have that part take this
        member's version of it."""
        log = self._store.log
        start = max(log.start, self.sure_end)
        self.see(epoch)
        self._write(epochs.begun(epochs.trimmed(self._epochs, log.start), epoch, start))
        self.caught_up()  # no other member that can report has more

    def adopt(self, theirs: Epochs) -> None:
        """Record the epochs of a master, of whose log this member's log is a prefix."""
        if theirs != self._epochs:
            self._write(theirs)

    def caught_up(self) -> None:
        """Record that this log has everything that the master's log has."""
        self._sure_to = None
        whole = replace(self._kept, boot=self._now_boot, is_partial=False, sure_to=None)
        if whole != self._kept:
            self._keep(whole)

    def compared(self, position: int) -> None:
        """Record that the log equals the master's up to this position."""
        self._sure_to = position if position < self._store.log.end else None
        if self._sure_to is None:
            self._keep(replace(self._kept, sure_to=None))

    # ------------------------------------------------------------------ requests to the next start

    def cut(self, position: int) -> None:
        """Have the next start truncate the log at this position, from where the master's log
        continues."""
        self._save(log_truncation.request, TruncationRequest(position, epoch=self.epoch))

    def copy_again(self, shared: int) -> None:
        """Have the next start begin an empty log. At most the part below `shared` equals the
        master's log, and the master no longer has the part that follows."""
        self._keep(replace(self._kept, is_partial=True))
        self._write(())
        self._save(log_truncation.request, TruncationRequest(0, shared, self.epoch))

    # ------------------------------------------------------------------ files

    def _keep(self, now: persistent_state.PersistentState) -> None:
        self._save(persistent_state.write, now)
        self._kept = now

    def _write(self, now: Epochs) -> None:
        self._save(epoch_file.write, now)
        self._epochs = now

    def _save(self, write: Callable[[Disk, _T], None], content: _T) -> None:
        _save(self._disk, write, content, self._store.watch.out_of_space)
