"""Defines the outcomes of a put, and the texts of refusals for producers.

A refusal is a value. Producers see its text: RocketMQ's own words come first where tools look for
them, then what happened, the figures, and what helps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.wire.codes import ResponseCode

UNAVAILABLE: Final = "service not available now. "
DISK_FULL: Final = (
    "service not available now. It may be caused by one of the following reasons: "
    "the broker's disk is full "
)
ILLEGAL: Final = "the message is illegal, maybe msg body or properties length not matched. "


class PutStatus(Enum):
    """The outcome of a put, with RocketMQ's names."""

    PUT_OK = "stored"
    FLUSH_DISK_TIMEOUT = "stored, but not on disk within syncFlushTimeout"
    SLAVE_NOT_AVAILABLE = "stored, but too few members are in sync"
    FLUSH_SLAVE_TIMEOUT = "stored, but not on the other members in time"
    SERVICE_NOT_AVAILABLE = "the store takes no messages now"
    MESSAGE_ILLEGAL = "the message cannot be stored"
    PROPERTIES_SIZE_EXCEEDED = "the message's properties are too long"
    OS_PAGE_CACHE_BUSY = "the store is too busy"
    SESSION_FENCED = "a newer epoch of the producer session has begun"
    SESSION_OUT_OF_SEQUENCE = "the messages do not continue the producer session"

    @property
    def response_code(self) -> ResponseCode:
        return _RESPONSE_CODES[self]

    @property
    def is_stored(self) -> bool:
        """Whether the message is in the log, so that the producer must get its position."""
        return self in _STORED


_RESPONSE_CODES: Final = {
    PutStatus.PUT_OK: ResponseCode.SUCCESS,
    PutStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
    PutStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutStatus.SERVICE_NOT_AVAILABLE: ResponseCode.SERVICE_NOT_AVAILABLE,
    PutStatus.MESSAGE_ILLEGAL: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.PROPERTIES_SIZE_EXCEEDED: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.OS_PAGE_CACHE_BUSY: ResponseCode.SYSTEM_BUSY,
    PutStatus.SESSION_FENCED: ResponseCode.GANTRY_SESSION_FENCED,
    PutStatus.SESSION_OUT_OF_SEQUENCE: ResponseCode.GANTRY_SESSION_OUT_OF_SEQUENCE,
}
_STORED: Final = frozenset(
    {
        PutStatus.PUT_OK,
        PutStatus.FLUSH_DISK_TIMEOUT,
        PutStatus.SLAVE_NOT_AVAILABLE,
        PutStatus.FLUSH_SLAVE_TIMEOUT,
    }
)


@final
@dataclass(frozen=True, slots=True)
class Refused:
    """The reason why nothing was stored."""

    status: PutStatus
    text: str


def illegal(text: str) -> Refused:
    return Refused(PutStatus.MESSAGE_ILLEGAL, ILLEGAL + text)


def disk_refused(
    error: DiskError, disk: Disk, folder: str, needed_bytes: int, root: str = ""
) -> Refused:
    """The refusal that producers get when a write failed. Later writes may succeed.

    `root` is the path of the disk's root as operators know it.
    """
    if error.failure is not DiskFailure.NO_SPACE:
        return Refused(
            PutStatus.SERVICE_NOT_AVAILABLE,
            f"{UNAVAILABLE}The log cannot be written: {error}; see the broker's and the system's "
            "logs.",
        )
    path = f"{root.rstrip('/')}/{folder}" if root else folder
    try:
        usage = disk.usage(folder)
    except DiskError as unknown:
        figures = f"its use is unknown: {unknown}"
    else:
        used = usage.total_bytes - usage.free_bytes
        ratio = used / usage.total_bytes if usage.total_bytes else 1.0
        figures = (
            f"[CL: {ratio:.2f}] {used} of {usage.total_bytes} bytes are used, "
            f"{usage.free_bytes} are free"
        )
    return Refused(
        PutStatus.SERVICE_NOT_AVAILABLE,
        f"{DISK_FULL}{figures}, and {path} needs {needed_bytes} more. Free space on its partition "
        "or lower fileReservedTime; the broker goes on by itself.",
    )
