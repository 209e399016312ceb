"""Simulates a disk that fails: the fault model that the store must survive.

Power cut. `crash()` returns a new disk in the state that the machine finds after the power cut;
every handle of the old disk is dead. The new disk holds:

- A file's bytes, size and reserved space as of its last successful `sync`. Of each later change,
  everything, nothing or a part survived: bytes up to or from some position, any of its sectors, or
  the size with zeros where the bytes should be. A later change may survive an earlier one.
- A folder's names as of its last successful `sync_folder`. Each later step (a create, a rename, a
  removal) survived as a whole or not at all, and later ones may survive earlier ones: new names
  vanish, old names reappear, with the content that the file has on disk. A rename within a folder
  is one step; one between folders is two, one in each folder.
- An empty cache and no locks.

`kill()` ends the process alone: every write is still visible, and still not on disk.

Calls. By chance (`Faults`) or on request (`fail`), any call may be refused: reads with BROKEN,
changes with NO_SPACE or BROKEN; a refused `write` may have written any first part. After a failed
`sync` the unsynced bytes can still be read, and may never reach the disk even if a later sync
succeeds. A slow or stuck sync is a ticket that the test completes late or never.

Bits. `flip_bit` damages a byte on disk. With `Faults.flipped_bit`, a change that survives a power
cut unsynced may have one wrong bit.

Not modelled: the loss of bytes that were synced, a name that is damaged itself, and writes that
reach another position than they should.

    disk = FaultyDisk(random.Random(seed).randrange)          # the same seed, the same faults
    disk.crash_at = 17                                        # this change ends in PowerCut
    disk.fail("sync", path="commitlog/00000000000000000000")  # the next one
    disk = disk.crash()

`operations` counts the changes and syncs; a crash can fall between any two of them. The operation
at which the power cut falls may have happened in part: a `sync` may have written something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import DiskError, DiskFailure, Entry, Usage, path_parts
from gantrymq.testing.memory_disk import Folder, Inode, MemoryDisk, MemoryFile, Node, Storage
from gantrymq.testing.unsynced import (
    Allocated,
    Chooser,
    FileRecord,
    FolderRecord,
    Resized,
    Written,
    chance,
    keep_all,
)


class PowerCut(Exception):  # noqa: N818 - it is no error, and nothing may handle it as one
    """The power cut, or the end of the process: everything that used this disk must stop."""


@final
@dataclass(frozen=True, slots=True)
class Faults:
    """How many of a thousand calls are refused by chance, or how many pieces are damaged."""

    no_space: int = 0  # of the calls that change something
    write_error: int = 0  # of the calls that change something
    read_error: int = 0
    sync_error: int = 0  # of `sync` and `sync_folder`
    flipped_bit: int = 0  # of the unsynced changes that survive a crash
    lost_sync: int = 0  # of the syncs: they succeed, but the device has not written the data


@final
@dataclass(slots=True)
class _Request:
    operation: str
    path: str
    failure: DiskFailure
    left: int


SYNCS: Final = frozenset({"sync", "sync_folder"})
READS: Final = frozenset({"read", "open", "list", "lock"})


@final
class FaultyFile:
    """An open file of a `FaultyDisk`."""

    __slots__ = ("_disk", "_file", "_record")

    def __init__(self, disk: FaultyDisk, file: MemoryFile) -> None:
        self._disk = disk
        self._file = file
        self._record = disk.file_record(file.inode)

    @property
    def path(self) -> str:
        return self._file.path

    def size(self) -> int:
        self._disk.refuse_dead()
        return self._file.size()

    def write(self, position: int, pieces: Sequence[bytes]) -> None:
        data = b"".join(pieces)
        refused = self._disk.refusal("write", self.path)
        if refused is not None:
            data = data[: self._disk.choose(len(data) + 1)]
        self._file.write(position, [data])
        if data:
            self._record.add(Written(position, data))
        if refused is not None:
            raise refused
        self._disk.operation_done()

    def read(self, position: int, size: int) -> bytes:
        self._disk.refuse("read", self.path)
        return self._file.read(position, size)

    def read_cached(self, position: int, size: int) -> bytes | None:
        self._disk.refuse("read", self.path)
        return self._file.read_cached(position, size)

    def allocate(self, position: int, size: int) -> None:
        self._disk.refuse("allocate", self.path)
        self._file.allocate(position, size)
        self._record.add(Allocated(position, size))
        self._disk.operation_done()

    def resize(self, size: int) -> None:
        self._disk.refuse("resize", self.path)
        self._file.resize(size)
        self._record.add(Resized(size))
        self._disk.operation_done()

    def sync(self) -> None:
        self.start_sync()()

    def start_sync(self) -> Callable[[], None]:
        """A function that ends the sync; the sync covers only the writes so far."""
        self._disk.refuse_dead()
        self._file.sync()  # raises if the file is closed
        sequence = self._record.sequence
        return lambda: self._disk.end_sync(self.path, self._record, sequence)

    def forget_cached(self, position: int, size: int) -> None:
        self._disk.refuse_dead()
        self._file.forget_cached(position, size)

    def duplicate(self) -> FaultyFile:
        """Open another handle of the same file."""
        return FaultyFile(self._disk, self._file.duplicate())

    def close(self) -> None:
        self._file.close()


@final
class FaultyDisk:
    """A folder tree whose calls may fail; `memory` holds its time, space and readable content."""

    def __init__(
        self,
        choose: Chooser = keep_all,
        faults: Faults = Faults(),
        storage: Storage | None = None,
    ) -> None:
        self.choose = choose
        self.faults = faults
        self.memory = MemoryDisk(storage)
        self.operations = 0
        self.crash_at: int | None = None
        self._is_dead = False
        self._requests: list[_Request] = []
        self._files: dict[Inode, FileRecord] = {}
        self._folders: dict[Folder, FolderRecord] = {}

    def fail(
        self,
        operation: str,
        failure: DiskFailure = DiskFailure.BROKEN,
        *,
        path: str = "",
        times: int = 1,
    ) -> None:
        """Refuse the next calls of this method, on this path or on any; `read` means both kinds of
        read."""
        self._requests.append(_Request(operation, path, failure, times))

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        """Damage a byte on disk, whether it was synced or not."""
        inode = self.memory.find(path)
        if not isinstance(inode, Inode):
            raise DiskError(DiskFailure.NOT_FOUND, "flip_bit", path)
        self.file_record(inode).flip_bit(inode, position, bit)

    def crash(self) -> FaultyDisk:
        """The disk as the machine finds it after the power cut."""
        self._is_dead = True
        old = self.memory.storage
        storage = Storage(old.total_bytes, old.now_ms)
        self._rebuild(old.root, storage.root, storage, {})
        survivor = FaultyDisk(self.choose, self.faults, storage)
        survivor.memory.reads_cached = self.memory.reads_cached
        survivor.memory.cool()
        return survivor

    def kill(self) -> FaultyDisk:
        """The disk as the next process finds it if only this process ends."""
        self._is_dead = True
        self.memory.end_process()
        heir = FaultyDisk(self.choose, self.faults, self.memory.storage)
        heir.memory.reads_cached = self.memory.reads_cached
        heir._files, heir._folders = self._files, self._folders
        return heir

    def open(self, path: str) -> FaultyFile:
        self.refuse("open", path)
        return FaultyFile(self, self.memory.open(path))

    def create(self, path: str) -> FaultyFile:
        self.refuse("create", path)
        folder, name = self.memory.parent("create", path)
        names = self._folder_record(folder)
        file = FaultyFile(self, self.memory.create(path))
        names.steps.append({name: folder.names[name]})
        self.operation_done()
        return file

    def list(self, folder: str) -> Sequence[Entry]:
        self.refuse("list", folder)
        return self.memory.list(folder)

    def make_folder(self, folder: str) -> None:
        self.refuse("make_folder", folder)
        parts = path_parts(folder)
        for count in range(len(parts)):
            above, path = "/".join(parts[:count]), "/".join(parts[: count + 1])
            parent = self.memory.find(above)
            is_new = self.memory.find(path) is None
            names = self._folder_record(parent) if isinstance(parent, Folder) else None
            self.memory.make_folder(path)
            if is_new and names is not None:
                names.steps.append({parts[count]: self.memory.find(path)})
                self.operation_done()

    def rename(self, old: str, new: str) -> None:
        self.refuse("rename", old)
        source, source_name = self.memory.parent("rename", old)
        target, target_name = self.memory.parent("rename", new)
        source_names, target_names = self._folder_record(source), self._folder_record(target)
        self._remember(target.names.get(target_name))
        self.memory.rename(old, new)
        if old == new:
            return
        step: dict[str, Node | None] = {target_name: target.names[target_name]}
        if source is target:
            target_names.steps.append({source_name: None, **step})
        else:
            target_names.steps.append(step)
            source_names.steps.append({source_name: None})
        self.operation_done()

    def remove(self, path: str) -> None:
        self.refuse("remove", path)
        folder, name = self.memory.parent("remove", path)
        names = self._folder_record(folder)
        self._remember(folder.names.get(name))
        self.memory.remove(path)
        names.steps.append({name: None})
        self.operation_done()

    def sync_folder(self, folder: str) -> None:
        self.refuse("sync_folder", folder)
        self.operation_done()
        self.memory.sync_folder(folder)
        node = self.memory.find(folder)
        assert isinstance(node, Folder)
        if not chance(self.choose, self.faults.lost_sync):
            self._folder_record(node).sync()

    def usage(self, folder: str) -> Usage:
        self.refuse_dead()
        return self.memory.usage(folder)

    def lock(self, path: str) -> None:
        self.refuse("lock", path)
        if self.memory.find(path) is None:
            self.create(path).close()
        self.memory.lock(path)

    def refuse_dead(self) -> None:
        """Raise PowerCut for handles that were opened before a crash."""
        if self._is_dead:
            raise PowerCut

    def refuse(self, operation: str, path: str) -> None:
        """Raise the refusal of this call, if a request or chance refuses it."""
        refused = self.refusal(operation, path)
        if refused is not None:
            raise refused

    def refusal(self, operation: str, path: str) -> DiskError | None:
        """The refusal of this call by request or by chance; None if it is carried out."""
        self.refuse_dead()
        for request in self._requests:
            if request.operation == operation and request.path in {"", path}:
                request.left -= 1
                if not request.left:
                    self._requests.remove(request)
                return DiskError(request.failure, operation, path)
        failure = self._chance(operation)
        return None if failure is None else DiskError(failure, operation, path)

    def operation_done(self) -> None:
        """Count a change or a sync; the operation at `crash_at` is the last one."""
        self.operations += 1
        if self.operations == self.crash_at:
            self._is_dead = True
            raise PowerCut

    def end_sync(self, path: str, record: FileRecord, sequence: int) -> None:
        """Carry out a sync that covers the changes up to `sequence`, or fail it."""
        refused = self.refusal("sync", path)
        if refused is not None:
            record.fail_sync(self.choose)
            raise refused
        self.operation_done()
        if not chance(self.choose, self.faults.lost_sync):
            record.sync(sequence)

    def file_record(self, inode: Inode) -> FileRecord:
        """What the device has of this file; callers ask before they change the file."""
        record = self._files.get(inode)
        if record is None:
            record = self._files[inode] = FileRecord(inode)
        return record

    def _folder_record(self, folder: Folder) -> FolderRecord:
        record = self._folders.get(folder)
        if record is None:
            record = self._folders[folder] = FolderRecord(folder.names)
        return record

    def _remember(self, node: Node | None) -> None:
        """Remember a file that loses its name: a crash may bring the name back with all content."""
        if isinstance(node, Inode):
            self.file_record(node)

    def _chance(self, operation: str) -> DiskFailure | None:
        faults = self.faults
        if operation in SYNCS:
            return DiskFailure.BROKEN if chance(self.choose, faults.sync_error) else None
        if operation in READS:
            return DiskFailure.BROKEN if chance(self.choose, faults.read_error) else None
        if chance(self.choose, faults.no_space):
            return DiskFailure.NO_SPACE
        return DiskFailure.BROKEN if chance(self.choose, faults.write_error) else None

    def _rebuild(
        self, old: Folder, new: Folder, storage: Storage, survivors: dict[Inode, Inode]
    ) -> None:
        """Fill `new` with what the device has of the folder `old` and of everything below it."""
        new.modified_ms = old.modified_ms
        record = self._folders.get(old)
        names = record.survivor(self.choose) if record else old.names
        for name, node in names.items():
            if isinstance(node, Folder):
                new.names[name] = below = Folder(node.modified_ms)
                self._rebuild(node, below, storage, survivors)
                continue
            if node not in survivors:
                survivors[node] = self._survivor(node)
                storage.used_blocks += len(survivors[node].blocks)
            new.names[name] = survivors[node]

    def _survivor(self, inode: Inode) -> Inode:
        survivor = Inode(inode.modified_ms)
        record = self.file_record(inode)
        image = record.survivor(self.choose, self.faults.flipped_bit)
        survivor.data, survivor.blocks = image.data, image.blocks
        return survivor
