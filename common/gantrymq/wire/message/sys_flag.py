"""Defines the bits of sysFlag, which says how a message is stored, on the wire and on disk.

bit     0 COMPRESSED   1 MULTI_TAGS   2-3 transaction type   4 BORNHOST_V6   5 STOREHOST_V6
bit     6 NEED_UNWRAP  7 INNER_BATCH  8-10 compression type
"""

from __future__ import annotations

from typing import Final

COMPRESSED: Final = 0x1
MULTI_TAGS: Final = 0x2

TRANSACTION_NONE: Final = 0x0
TRANSACTION_PREPARED: Final = 0x4
TRANSACTION_COMMIT: Final = 0x8
TRANSACTION_ROLLBACK: Final = 0xC
TRANSACTION_MASK: Final = 0xC

BORN_HOST_V6: Final = 0x10
STORE_HOST_V6: Final = 0x20
HOSTS_MASK: Final = 0x30

NEED_UNWRAP: Final = 0x40
INNER_BATCH: Final = 0x80

COMPRESSION_MASK: Final = 0x700
COMPRESSION_SHIFT: Final = 8


def transaction_type(sys_flag: int) -> int:
    """One of the four TRANSACTION_ values."""
    return sys_flag & TRANSACTION_MASK


def with_transaction_type(sys_flag: int, transaction: int) -> int:
    return (sys_flag & ~TRANSACTION_MASK) | transaction


def with_hosts(sys_flag: int, born_host: bytes, store_host: bytes) -> int:
    """Set the host bits by the packed hosts; a sender's own host bits are not trusted."""
    bits = (len(born_host) == 20) * BORN_HOST_V6 | (len(store_host) == 20) * STORE_HOST_V6
    return (sys_flag & ~HOSTS_MASK) | bits
