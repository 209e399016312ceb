"""Defines the numbers and layouts of the FUSE protocol 7.31 that the file system needs.

    request   length u32, opcode u32, unique u64, node u64, uid u32, gid u32, pid u32, 4 spare
              bytes, then what the opcode says: a fixed part, and names that end in a zero byte
    answer    length u32, negated error number i32, unique u64, then what the opcode says

Little endian, as the machine is; one request a read, one answer a write of /dev/fuse.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final

VERSION: Final = (7, 31)
ROOT_NODE: Final = 1
WRITE_BYTES_MAX: Final = 1 << 20
REQUEST_BYTES_MAX: Final = WRITE_BYTES_MAX + 4096

# Flags of INIT: reads in parallel, writes over a page, requests of 256 pages.
WANTED_FLAGS: Final = 1 << 0 | 1 << 5 | 1 << 22

REQUEST: Final = Struct("<IIQQIII4x")
ANSWER: Final = Struct("<IiQ")

INIT_IN: Final = Struct("<IIII")  # major, minor, readahead, flags
# major, minor, readahead, flags, background, congestion, write max, time granularity, pages max
INIT_OUT: Final = Struct("<IIIIHHIIH34x")
ATTRIBUTES: Final = Struct("<QQQQQQIIIIIIIIII")  # inode .. ctime, three nanoseconds, mode .. flags
ENTRY_OUT: Final = Struct("<QQQQII")  # node, generation, entry valid, attributes valid, nanoseconds
ATTRIBUTES_OUT: Final = Struct("<QII")  # valid for, nanoseconds, spare
SETATTR_IN: Final = Struct("<I4xQQ")  # which, handle, size
CREATE_IN: Final = Struct("<IIII")  # flags, mode, umask, open flags
MKDIR_IN: Final = Struct("<II")  # mode, umask
RENAME_IN: Final = Struct("<Q")  # the other folder's node
RENAME2_IN: Final = Struct("<QII")  # the same, flags, spare
OPEN_OUT: Final = Struct("<QII")  # handle, flags, spare
READ_IN: Final = Struct("<QQI20x")  # handle, offset, size
WRITE_IN: Final = READ_IN
WRITE_OUT: Final = Struct("<II")  # size, spare
HANDLE_IN: Final = Struct("<Q")  # what RELEASE and FSYNC begin with
FALLOCATE_IN: Final = Struct("<QQQII")  # handle, offset, length, mode, spare
STATFS_OUT: Final = Struct("<QQQQQIIII24x")  # blocks, free, available, files, free; sizes
ENTRY: Final = Struct("<QQII")  # inode, offset of the next, length of the name, type

SETATTR_SIZE: Final = 1 << 3
SETATTR_HANDLE: Final = 1 << 6
TYPE_FOLDER: Final = 4
TYPE_FILE: Final = 8


class Opcode(IntEnum):
    """The requests that the file system answers; all others get ENOSYS."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    CREATE = 35
    INTERRUPT = 36
    DESTROY = 38
    BATCH_FORGET = 42
    FALLOCATE = 43
    RENAME2 = 45


# The kernel waits for no answer to these.
SILENT: Final = {Opcode.FORGET, Opcode.BATCH_FORGET, Opcode.INTERRUPT, Opcode.DESTROY}
