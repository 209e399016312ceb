"""Carries out the requests of the kernel on a `FaultyDisk`.

Writes come here one by one and at once: the kernel holds nothing back, so that what a power cut
takes is the faulty disk's choice alone. Nodes of the protocol are the tree's own nodes; each
remembers the folder and the name it was last seen with.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Mapping
from typing import Final, final

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.powercut import protocol
from gantrymq.powercut.protocol import Opcode
from gantrymq.testing.faulty_disk import FaultyDisk, FaultyFile
from gantrymq.testing.memory_disk import BLOCK_BYTES, Folder, Inode, Node

VALID_SECONDS: Final = 3600  # how long the kernel may cache: it alone changes files

ERRORS: Final = {
    DiskFailure.NO_SPACE: errno.ENOSPC,
    DiskFailure.NOT_FOUND: errno.ENOENT,
    DiskFailure.EXISTS: errno.EEXIST,
    DiskFailure.LOCKED: errno.EAGAIN,
    DiskFailure.BROKEN: errno.EIO,
}

Answer = Callable[[int, bytes], bytes]


class RefusedError(Exception):
    """Answers the request with this error number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@final
class FileSystem:
    """The file system of one mount, from INIT to the power cut. The server owns it."""

    def __init__(self, disk: FaultyDisk) -> None:
        self.disk = disk
        root = disk.memory.storage.root
        self._nodes: dict[int, Node] = {protocol.ROOT_NODE: root}
        self._numbers: dict[Node, int] = {root: protocol.ROOT_NODE}
        self._places: dict[Node, tuple[Folder, str]] = {}
        self._handles: dict[int, FaultyFile] = {}
        self._last_handle = 0
        self._answers: Mapping[int, Answer] = self._table()

    def answer(self, opcode: int, node: int, body: bytes) -> bytes:
        """The answer to the kernel; raises `RefusedError`, and `PowerCut` at the planned
        operation."""
        handler = self._answers.get(opcode)
        if handler is None:
            raise RefusedError(errno.ENOSYS)
        try:
            return handler(node, body)
        except DiskError as error:
            raise RefusedError(ERRORS[error.failure]) from error

    def _table(self) -> Mapping[int, Answer]:
        return {
            Opcode.INIT: self._init,
            Opcode.LOOKUP: self._lookup,
            Opcode.GETATTR: lambda node, _: self._attributes_out(self._nodes[node]),
            Opcode.SETATTR: self._setattr,
            Opcode.MKDIR: self._mkdir,
            Opcode.UNLINK: self._remove,
            Opcode.RMDIR: self._rmdir,
            Opcode.RENAME: lambda node, body: self._rename(node, body, protocol.RENAME_IN.size),
            Opcode.RENAME2: self._rename2,
            Opcode.CREATE: self._create,
            Opcode.OPEN: self._open,
            Opcode.READ: self._read,
            Opcode.WRITE: self._write,
            Opcode.FALLOCATE: self._fallocate,
            Opcode.FSYNC: self._fsync,
            Opcode.FLUSH: lambda _, __: b"",
            Opcode.RELEASE: self._release,
            Opcode.OPENDIR: lambda _, __: protocol.OPEN_OUT.pack(0, 0, 0),
            Opcode.READDIR: self._readdir,
            Opcode.RELEASEDIR: lambda _, __: b"",
            Opcode.FSYNCDIR: self._fsyncdir,
            Opcode.STATFS: self._statfs,
        }

    def _init(self, _: int, body: bytes) -> bytes:
        _, _, readahead, flags = protocol.INIT_IN.unpack_from(body)
        return protocol.INIT_OUT.pack(
            *protocol.VERSION,
            readahead,
            flags & protocol.WANTED_FLAGS,
            16,
            12,
            protocol.WRITE_BYTES_MAX,
            1_000_000,
            protocol.WRITE_BYTES_MAX // BLOCK_BYTES,
        )

    def _lookup(self, node: int, body: bytes) -> bytes:
        folder, name = self._folder(node), _name(body)
        found = folder.names.get(name)
        if found is None:
            raise RefusedError(errno.ENOENT)
        self._places[found] = (folder, name)
        return self._entry_out(found)

    def _setattr(self, node: int, body: bytes) -> bytes:
        which, handle, size = protocol.SETATTR_IN.unpack_from(body)
        if which & protocol.SETATTR_SIZE:
            if which & protocol.SETATTR_HANDLE:
                self._handles[handle].resize(size)
            else:
                file = self.disk.open(self._path(self._nodes[node]))
                file.resize(size)
                file.close()
        return self._attributes_out(self._nodes[node])

    def _mkdir(self, node: int, body: bytes) -> bytes:
        name = _name(body[protocol.MKDIR_IN.size :])
        self.disk.make_folder(self._below(node, name))
        return self._lookup(node, name.encode() + b"\0")

    def _remove(self, node: int, body: bytes) -> bytes:
        self.disk.remove(self._below(node, _name(body)))
        return b""

    def _rmdir(self, node: int, body: bytes) -> bytes:
        below = self._folder(node).names.get(_name(body))
        if isinstance(below, Folder) and below.names:
            raise RefusedError(errno.ENOTEMPTY)
        return self._remove(node, body)

    def _rename(self, node: int, body: bytes, names_at: int) -> bytes:
        (target,) = protocol.RENAME_IN.unpack_from(body)
        old, new = (name.decode() for name in body[names_at:].split(b"\0")[:2])
        moved = self._folder(node).names.get(old)
        self.disk.rename(self._below(node, old), self._below(target, new))
        if moved is not None:
            self._places[moved] = (self._folder(target), new)
        return b""

    def _rename2(self, node: int, body: bytes) -> bytes:
        _, flags, _ = protocol.RENAME2_IN.unpack_from(body)
        if flags:
            raise RefusedError(errno.EINVAL)
        return self._rename(node, body, protocol.RENAME2_IN.size)

    def _create(self, node: int, body: bytes) -> bytes:
        name = _name(body[protocol.CREATE_IN.size :])
        file = self.disk.create(self._below(node, name))
        entry = self._lookup(node, name.encode() + b"\0")
        return entry + self._open_out(file)

    def _open(self, node: int, _: bytes) -> bytes:
        return self._open_out(self.disk.open(self._path(self._nodes[node])))

    def _read(self, _: int, body: bytes) -> bytes:
        handle, offset, size = protocol.READ_IN.unpack_from(body)
        return self._handles[handle].read(offset, size)

    def _write(self, _: int, body: bytes) -> bytes:
        handle, offset, size = protocol.WRITE_IN.unpack_from(body)
        start = protocol.WRITE_IN.size
        self._handles[handle].write(offset, [body[start : start + size]])
        return protocol.WRITE_OUT.pack(size, 0)

    def _fallocate(self, _: int, body: bytes) -> bytes:
        handle, offset, length, mode, _ = protocol.FALLOCATE_IN.unpack_from(body)
        if mode:
            raise RefusedError(errno.EOPNOTSUPP)
        self._handles[handle].allocate(offset, length)
        return b""

    def _fsync(self, _: int, body: bytes) -> bytes:
        (handle,) = protocol.HANDLE_IN.unpack_from(body)
        self._handles[handle].sync()
        return b""

    def _release(self, _: int, body: bytes) -> bytes:
        (handle,) = protocol.HANDLE_IN.unpack_from(body)
        self._handles.pop(handle).close()
        return b""

    def _readdir(self, node: int, body: bytes) -> bytes:
        _, offset, size = protocol.READ_IN.unpack_from(body)
        listing = b""
        names = self._folder(node).names
        for number, name in enumerate(sorted(names)[offset:], start=offset + 1):
            kind = protocol.TYPE_FOLDER if isinstance(names[name], Folder) else protocol.TYPE_FILE
            encoded = name.encode()
            inode = self._number(names[name])
            entry = protocol.ENTRY.pack(inode, number, len(encoded), kind) + encoded
            entry += bytes(-len(entry) % 8)
            if len(listing) + len(entry) > size:
                break
            listing += entry
        return listing

    def _fsyncdir(self, node: int, _: bytes) -> bytes:
        self.disk.sync_folder(self._path(self._folder(node)))
        return b""

    def _statfs(self, _: int, __: bytes) -> bytes:
        usage = self.disk.usage("")
        free = usage.free_bytes // BLOCK_BYTES
        total = usage.total_bytes // BLOCK_BYTES
        return protocol.STATFS_OUT.pack(
            total, free, free, 1 << 20, 1 << 20, BLOCK_BYTES, 255, BLOCK_BYTES, 0
        )

    def _open_out(self, file: FaultyFile) -> bytes:
        self._last_handle += 1
        self._handles[self._last_handle] = file
        return protocol.OPEN_OUT.pack(self._last_handle, 0, 0)

    def _entry_out(self, node: Node) -> bytes:
        number = self._number(node)
        head = protocol.ENTRY_OUT.pack(number, 0, VALID_SECONDS, VALID_SECONDS, 0, 0)
        return head + self._attributes(node)

    def _attributes_out(self, node: Node) -> bytes:
        return protocol.ATTRIBUTES_OUT.pack(VALID_SECONDS, 0, 0) + self._attributes(node)

    def _attributes(self, node: Node) -> bytes:
        seconds, milliseconds = divmod(node.modified_ms, 1000)
        size, blocks, mode = 0, 0, stat.S_IFDIR | 0o755
        if isinstance(node, Inode):
            size, blocks = len(node.data), len(node.blocks) * (BLOCK_BYTES // 512)
            mode = stat.S_IFREG | 0o644
        times = [seconds] * 3 + [milliseconds * 1_000_000] * 3
        number = self._number(node)
        return protocol.ATTRIBUTES.pack(
            number, size, blocks, *times, mode, 1, 0, 0, 0, BLOCK_BYTES, 0
        )

    def _number(self, node: Node) -> int:
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self._numbers) + 1
            self._nodes[number] = node
        return number

    def _folder(self, number: int) -> Folder:
        node = self._nodes[number]
        if not isinstance(node, Folder):
            raise RefusedError(errno.ENOTDIR)
        return node

    def _below(self, folder: int, name: str) -> str:
        above = self._path(self._folder(folder))
        return f"{above}/{name}" if above else name

    def _path(self, node: Node) -> str:
        names: list[str] = []
        while node is not self.disk.memory.storage.root:
            node, name = self._places[node]
            names.append(name)
        return "/".join(reversed(names))


def _name(body: bytes) -> str:
    return body.partition(b"\0")[0].decode()
