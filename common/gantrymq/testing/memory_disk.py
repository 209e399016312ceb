"""Implements the disk in memory, without device or clock; tests set time and space.

    disk = MemoryDisk(total_bytes=1 << 20)
    disk.now_ms = 1_700_000_000_000         # the time stamp of all later writes
    disk.total_bytes = 0                    # the disk is full from here on

A `MemoryDisk` is one process's view of a `Storage`. A second one on the same storage is another
process, which a lock excludes until `end_process()`. Nothing is ever lost here, synced or not; use
`gantrymq.testing.faulty_disk` for losses.

Space is counted in blocks. `allocate` and `write` take the blocks they touch, `resize` takes none;
a removed file gives its blocks back when its last handle is closed. Folders cost nothing. A block
is cold after `forget_cached` or the disk's `cool()` until it is read or written: `read_cached`
returns None for it. With `reads_cached = False` it always does, as on a file system that cannot
tell. The background that goes with it is in `gantrymq.testing.memory_background`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, final

from gantrymq.base.disk import DiskError, DiskFailure, Entry, Usage, path_parts
from gantrymq.base.errors import LocalError

BLOCK_BYTES: Final = 4096
TOTAL_BYTES: Final = 1 << 30  # no test fills this by accident

Node: TypeAlias = "Inode | Folder"


@final
class Inode:
    """The content of a file, whatever names it has."""

    __slots__ = ("blocks", "cold", "data", "handles", "is_named", "modified_ms")

    def __init__(self, modified_ms: int) -> None:
        self.data = bytearray()
        self.blocks: set[int] = set()  # the blocks that have space reserved
        self.cold: set[int] = set()
        self.modified_ms = modified_ms
        self.handles = 0
        self.is_named = True


@final
class Folder:
    """The names of files and folders."""

    __slots__ = ("modified_ms", "names")

    def __init__(self, modified_ms: int) -> None:
        self.names: dict[str, Node] = {}
        self.modified_ms = modified_ms


@final
class Storage:
    """The state that survives processes: the tree, the space, the time and the locks."""

    __slots__ = ("lock_owners", "now_ms", "root", "total_bytes", "used_blocks")

    def __init__(self, total_bytes: int = TOTAL_BYTES, now_ms: int = 0) -> None:
        self.root = Folder(now_ms)
        self.total_bytes = total_bytes
        self.now_ms = now_ms
        self.used_blocks = 0
        self.lock_owners: dict[Inode, MemoryDisk] = {}

    @property
    def free_bytes(self) -> int:
        return max(0, self.total_bytes - self.used_blocks * BLOCK_BYTES)

    def reserve(self, inode: Inode, position: int, size: int) -> bool:
        """Take the blocks of this range; False, with nothing taken, if there are too few."""
        missing = set(touched(position, size)) - inode.blocks
        if len(missing) * BLOCK_BYTES > self.free_bytes:
            return False
        inode.blocks |= missing
        self.used_blocks += len(missing)
        return True

    def release(self, inode: Inode, size: int) -> None:
        """Give back the blocks after the first `size` bytes."""
        kept = len(touched(0, size))
        unneeded = {block for block in inode.blocks if block >= kept}
        inode.blocks -= unneeded
        self.used_blocks -= len(unneeded)

    def release_unreachable(self, inode: Inode) -> None:
        """Give back the blocks of a file that has neither a name nor an open handle."""
        if not inode.is_named and not inode.handles:
            self.release(inode, 0)


def touched(position: int, size: int) -> range:
    """The blocks in which a range has bytes."""
    if position < 0 or size < 0:
        raise LocalError(f"not a range of a file: {size} bytes at {position}")
    return range(position // BLOCK_BYTES, -(-(position + size) // BLOCK_BYTES) if size else 0)


@final
class MemoryFile:
    """An open file of a `MemoryDisk`."""

    __slots__ = ("_disk", "_is_open", "_path", "inode")

    def __init__(self, disk: MemoryDisk, path: str, inode: Inode) -> None:
        self._disk = disk
        self._path = path
        self._is_open = True
        self.inode = inode
        inode.handles += 1

    @property
    def path(self) -> str:
        return self._path

    def size(self) -> int:
        self._refuse_closed()
        return len(self.inode.data)

    def write(self, position: int, pieces: Sequence[bytes]) -> None:
        self._refuse_closed()
        written = b"".join(pieces)
        blocks = touched(position, len(written))
        if not written:
            return
        self._reserve("write", position, len(written))
        self._extend(position)
        self.inode.data[position : position + len(written)] = written
        self.inode.cold.difference_update(blocks)
        self._stamp()

    def read(self, position: int, size: int) -> bytes:
        self._refuse_closed()
        self.inode.cold.difference_update(touched(position, size))
        return bytes(self.inode.data[position : position + size])

    def read_cached(self, position: int, size: int) -> bytes | None:
        self._refuse_closed()
        blocks = touched(position, size)
        if not self._disk.reads_cached:
            return None
        if self.inode.cold and not self.inode.cold.isdisjoint(blocks):
            return None
        return bytes(self.inode.data[position : position + size])

    def allocate(self, position: int, size: int) -> None:
        self._refuse_closed()
        self._reserve("allocate", position, size)
        self._extend(position + size)
        self._stamp()

    def resize(self, size: int) -> None:
        self._refuse_closed()
        touched(0, size)
        if size < len(self.inode.data):
            del self.inode.data[size:]
            self._disk.storage.release(self.inode, size)
        self._extend(size)
        self._stamp()

    def sync(self) -> None:
        self._refuse_closed()

    def forget_cached(self, position: int, size: int) -> None:
        self._refuse_closed()
        self.inode.cold.update(
            block for block in touched(position, size) if block * BLOCK_BYTES < self.size()
        )

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.inode.handles -= 1
            self._disk.storage.release_unreachable(self.inode)

    def duplicate(self) -> MemoryFile:
        """Open another handle of the same file."""
        self._refuse_closed()
        return MemoryFile(self._disk, self._path, self.inode)

    def start_sync(self) -> Callable[[], None]:
        """A function that ends a sync that begins now; it does nothing: nothing is ever lost."""
        self._refuse_closed()
        return lambda: None

    def _refuse_closed(self) -> None:
        if not self._is_open:
            raise LocalError(f"{self._path} is closed")

    def _reserve(self, operation: str, position: int, size: int) -> None:
        if not self._disk.storage.reserve(self.inode, position, size):
            raise DiskError(DiskFailure.NO_SPACE, operation, self._path)

    def _extend(self, size: int) -> None:
        self.inode.data.extend(bytes(max(0, size - len(self.inode.data))))

    def _stamp(self) -> None:
        self.inode.modified_ms = self._disk.storage.now_ms


@final
class MemoryDisk:
    """A folder tree in memory, as one process sees it."""

    __slots__ = ("reads_cached", "storage")

    def __init__(
        self, storage: Storage | None = None, *, total_bytes: int = TOTAL_BYTES, now_ms: int = 0
    ) -> None:
        self.storage = storage or Storage(total_bytes, now_ms)
        self.reads_cached = True

    @property
    def now_ms(self) -> int:
        """The wall clock that stamps files and folders."""
        return self.storage.now_ms

    @now_ms.setter
    def now_ms(self, now_ms: int) -> None:
        self.storage.now_ms = now_ms

    @property
    def total_bytes(self) -> int:
        """The size of the partition; the disk is full if it is less than the space in use."""
        return self.storage.total_bytes

    @total_bytes.setter
    def total_bytes(self, total_bytes: int) -> None:
        self.storage.total_bytes = total_bytes

    def end_process(self) -> None:
        """Release the locks of this process."""
        owners = self.storage.lock_owners
        self.storage.lock_owners = {
            inode: owner for inode, owner in owners.items() if owner is not self
        }

    def open(self, path: str) -> MemoryFile:
        folder, name = self.parent("open", path)
        inode = folder.names.get(name)
        if not isinstance(inode, Inode):
            raise DiskError(DiskFailure.NOT_FOUND, "open", path)
        return MemoryFile(self, path, inode)

    def create(self, path: str) -> MemoryFile:
        folder, name = self.parent("create", path)
        if name in folder.names:
            raise DiskError(DiskFailure.EXISTS, "create", path)
        inode = Inode(self.now_ms)
        self._put(folder, name, inode)
        return MemoryFile(self, path, inode)

    def list(self, folder: str) -> Sequence[Entry]:
        node = self.find(folder)
        names = node.names if isinstance(node, Folder) else {}
        return [_entry(name, names[name]) for name in sorted(names)]

    def make_folder(self, folder: str) -> None:
        node: Node = self.storage.root
        for part in path_parts(folder):
            if not isinstance(node, Folder):
                break
            if part not in node.names:
                self._put(node, part, Folder(self.now_ms))
            node = node.names[part]
        if not isinstance(node, Folder):
            raise DiskError(DiskFailure.EXISTS, "make_folder", folder)

    def rename(self, old: str, new: str) -> None:
        source, source_name = self.parent("rename", old)
        target, target_name = self.parent("rename", new)
        node = source.names.get(source_name)
        if node is None:
            raise DiskError(DiskFailure.NOT_FOUND, "rename", old)
        replaced = target.names.get(target_name)
        if replaced is node:
            return
        if replaced is not None and isinstance(replaced, Folder) != isinstance(node, Folder):
            raise DiskError(DiskFailure.NOT_FOUND, "rename", new, "a file and a folder")
        if isinstance(replaced, Folder) and replaced.names:
            raise DiskError(DiskFailure.EXISTS, "rename", new, "the folder is not empty")
        self._put(target, target_name, node)
        self._take(source, source_name)
        self._forget(replaced)

    def remove(self, path: str) -> None:
        folder, name = self.parent("remove", path)
        node = folder.names.get(name)
        if node is None:
            raise DiskError(DiskFailure.NOT_FOUND, "remove", path)
        if isinstance(node, Folder) and node.names:
            raise DiskError(DiskFailure.EXISTS, "remove", path, "the folder is not empty")
        self._take(folder, name)
        self._forget(node)

    def sync_folder(self, folder: str) -> None:
        if not isinstance(self.find(folder), Folder):
            raise DiskError(DiskFailure.NOT_FOUND, "sync_folder", folder)

    def usage(self, folder: str) -> Usage:
        if self.find(folder) is None:
            raise DiskError(DiskFailure.NOT_FOUND, "usage", folder)
        return Usage(self.storage.total_bytes, self.storage.free_bytes)

    def lock(self, path: str) -> None:
        folder, name = self.parent("lock", path)
        if name not in folder.names:
            self.create(path).close()
        inode = folder.names[name]
        if not isinstance(inode, Inode):
            raise DiskError(DiskFailure.NOT_FOUND, "lock", path)
        if self.storage.lock_owners.setdefault(inode, self) is not self:
            raise DiskError(DiskFailure.LOCKED, "lock", path)

    def cool(self) -> None:
        """Empty the cache, as a restart of the machine does."""
        for inode in _inodes(self.storage.root):
            inode.cold.update(touched(0, len(inode.data)))

    def find(self, path: str) -> Node | None:
        """The file or folder at this path."""
        node: Node | None = self.storage.root
        for part in path_parts(path):
            node = node.names.get(part) if isinstance(node, Folder) else None
        return node

    def parent(self, operation: str, path: str) -> tuple[Folder, str]:
        """The folder that has, or could have, the last name of this path."""
        above, _, name = path.rpartition("/")
        if not path_parts(path):
            raise LocalError(f"{operation} needs a name below the disk's root")
        folder = self.find(above)
        if not isinstance(folder, Folder):
            raise DiskError(DiskFailure.NOT_FOUND, operation, path)
        return folder, name

    def _put(self, folder: Folder, name: str, node: Node) -> None:
        folder.names[name] = node
        folder.modified_ms = self.now_ms

    def _take(self, folder: Folder, name: str) -> None:
        del folder.names[name]
        folder.modified_ms = self.now_ms

    def _forget(self, node: Node | None) -> None:
        if isinstance(node, Inode):
            node.is_named = False
            self.storage.release_unreachable(node)


def _entry(name: str, node: Node) -> Entry:
    if isinstance(node, Folder):
        return Entry(name, is_folder=True, size=0, modified_ms=node.modified_ms)
    return Entry(name, is_folder=False, size=len(node.data), modified_ms=node.modified_ms)


def _inodes(folder: Folder) -> list[Inode]:
    found: list[Inode] = []
    for node in folder.names.values():
        found.extend(_inodes(node) if isinstance(node, Folder) else [node])
    return found
