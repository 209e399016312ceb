"""Defines the store's settings.

They are Java's keys that have an effect here, and `keptTailsBytesMax` and `producerSession...`,
which are ours. Java's defaults hold with one exception: `cleanFileForciblyEnable` is off, because
unconsumed messages must not be deleted unless an operator asks for it.

Sizes must be what the directory was written with, by Java or by us: `layout.py` refuses others.
Durations are in the unit of the key, mostly ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gantrymq.base.bounds import LONG_MAX
from gantrymq.base.configuration.settings import live_setting, setting

_AS_WRITTEN: Final = "must be what the directory was written with"


class FlushDiskType(StrEnum):
    """The condition under which a message counts as stored."""

    ASYNC_FLUSH = "ASYNC_FLUSH"
    """The message is written."""
    SYNC_FLUSH = "SYNC_FLUSH"
    """The message is fsynced."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The settings, in the order of their keys."""

    access_message_in_memory_max_ratio: int = live_setting(
        40,
        "records further behind the log's end than this share of the memory count as cold",
        unit="%",
        lowest=1,
        highest=100,
    )
    check_crc_on_recover: bool = setting(
        default=True,
        about="recovery compares the CRC of each body",
        key="checkCRCOnRecover",
    )
    clean_file_forcibly_enable: bool = live_setting(
        default=False,
        about="delete the oldest files, consumed or not, when the disk is nearly full",
    )
    clean_resource_interval: int = setting(
        10_000, "time between two searches for files to delete", unit="ms", lowest=1
    )
    default_query_max_num: int = live_setting(
        32, "messages that a query by key returns by default", lowest=1
    )
    delete_commit_log_files_interval: int = live_setting(
        100, "pause between two deleted files of the log", unit="ms", lowest=0
    )
    delete_consume_queue_files_interval: int = live_setting(
        100, "pause between two deleted files of queues", unit="ms", lowest=0
    )
    delete_file_batch_max: int = live_setting(10, "files of the log deleted in a row", lowest=1)
    delete_when: str = live_setting(
        "04", "hours of the day, ;-separated, at which old files are deleted"
    )
    disk_max_used_space_ratio: int = live_setting(
        75, "use of the disk above which old files are deleted at any hour", unit="%",
        lowest=1, highest=100,
    )  # fmt: skip
    disk_space_clean_forcibly_ratio: int = live_setting(
        85, "use of the disk above which cleanFileForciblyEnable deletes", unit="%",
        lowest=1, highest=100,
    )  # fmt: skip
    disk_space_warning_level_ratio: int = live_setting(
        90, "use of the disk above which messages are refused", unit="%", lowest=1, highest=100
    )
    file_reserved_time: int = live_setting(
        72, "age after which a file of the log may be deleted", unit="h", lowest=0
    )
    flush_commit_log_least_pages: int = setting(
        4, "4 KiB pages that an asynchronous flush waits for", lowest=0
    )
    flush_commit_log_thorough_interval: int = setting(
        10_000, "time after which a flush waits for no pages", unit="ms", lowest=1
    )
    flush_consume_queue_least_pages: int = setting(
        2, "4 KiB pages that a flush of a queue waits for", lowest=0
    )
    flush_consume_queue_thorough_interval: int = setting(
        60_000, "time after which a flush waits for no pages", unit="ms", lowest=1
    )
    flush_disk_type: FlushDiskType = setting(
        FlushDiskType.ASYNC_FLUSH, "whether a message waits for the disk"
    )
    flush_interval_commit_log: int = setting(
        500, "time between asynchronous flushes of the log", unit="ms", lowest=1
    )
    flush_interval_consume_queue: int = setting(
        1000, "time between flushes of the queues", unit="ms", lowest=1
    )
    # A tail has the seconds of messages that one master alone had: a gigabyte holds many of them.
    kept_tails_bytes_max: int = setting(
        1 << 30, "truncated tails of the log of a member of groupMembers that are kept; beyond, the"
        " oldest is deleted", unit="bytes", lowest=0, highest=LONG_MAX,
    )  # fmt: skip
    mapped_file_size_commit_log: int = setting(
        1 << 30, f"size of a file of the log; {_AS_WRITTEN}", unit="bytes", lowest=4096
    )
    mapped_file_size_consume_queue: int = setting(
        6_000_000, f"size of a file of a queue, made a multiple of 20; {_AS_WRITTEN}", unit="bytes",
        lowest=20,
    )  # fmt: skip
    max_hash_slot_num: int = setting(
        5_000_000, f"hash slots of an index file; {_AS_WRITTEN}", lowest=1, highest=100_000_000
    )
    max_index_num: int = setting(
        20_000_000, f"entries of an index file; {_AS_WRITTEN}", lowest=2, highest=100_000_000
    )
    max_message_size: int = live_setting(
        4 << 20,
        "the longest body of a message, or of a whole batch; no frame is larger than 16 MiB",
        unit="bytes",
        lowest=1,
        highest=1 << 30,
    )
    max_msgs_num_batch: int = live_setting(
        64, "messages that a query by key returns at most", lowest=1, highest=16_384
    )
    # A larger answer is no faster, and sending it blocks the loop for several milliseconds.
    max_transfer_bytes_on_bulk_pull: int = live_setting(
        1 << 20, "bytes that a bulk pull returns at most; batch readers use bulk pulls",
        unit="bytes", lowest=1 << 16, highest=12 << 20,
    )  # fmt: skip
    # An answer is one frame, and clients accept 16 MiB. A single message may be longer.
    max_transfer_bytes_on_message_in_disk: int = live_setting(
        65_536, "cold bytes that a pull returns at most", unit="bytes", lowest=1, highest=12 << 20
    )
    max_transfer_bytes_on_message_in_memory: int = live_setting(
        262_144,
        "recent bytes that a pull returns at most",
        unit="bytes",
        lowest=1,
        highest=12 << 20,
    )
    max_transfer_count_on_bulk_pull: int = live_setting(
        4096, "messages that a bulk pull returns at most", lowest=1, highest=16_384
    )
    max_transfer_count_on_message_in_disk: int = live_setting(
        8, "cold messages that a pull returns at most", lowest=1, highest=16_384
    )
    max_transfer_count_on_message_in_memory: int = live_setting(
        32, "recent messages that a pull returns at most", lowest=1, highest=16_384
    )
    message_delay_level: str = setting(
        "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
        "delays of the levels from 1 on, each with s, m, h or d",
    )
    message_index_enable: bool = setting(default=True, about="keep an index of keys")
    message_index_safe: bool = setting(
        default=False, about="recovery starts early enough that the index misses no key"
    )
    producer_session_hours: int = setting(
        168, "time after which a producer session that was not used is forgotten", unit="h",
        lowest=1, highest=10_000,
    )  # fmt: skip
    # A session takes some 300 bytes. Copying this many takes one step of 20 ms.
    producer_sessions_max: int = setting(
        50_000, "producer sessions that are kept; beyond, the one used longest ago is forgotten",
        lowest=1, highest=1_000_000,
    )  # fmt: skip
    slave_timeout: int = setting(
        3000, "a message that waits longer for a slave is answered FLUSH_SLAVE_TIMEOUT",
        unit="ms", lowest=1, highest=LONG_MAX,
    )  # fmt: skip
    store_path_commit_log: str = setting("", "the log's folder; empty: commitlog in the store's")
    store_path_root_dir: str = setting("", "the store's folder; empty: store in the data folder")
    sync_flush_timeout: int = setting(
        5000, "a message that waits longer for the disk is answered FLUSH_DISK_TIMEOUT",
        unit="ms", lowest=1, highest=LONG_MAX,
    )  # fmt: skip
