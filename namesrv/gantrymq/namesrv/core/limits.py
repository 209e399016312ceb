"""The bounds of a name server's tables; each protects its memory from a peer gone wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameServerLimits:
    """The bounds. Beyond one, the request is refused and nothing changes."""

    brokers_max: int = 4096
    """Broker processes; the largest clusters known have some hundreds."""

    topics_max: int = 500_000
    """Topics in all, some 150 bytes each while they share placements."""

    placed_queues_max: int = 2_000_000
    """Entries of all distinct placements, a topic on a broker name each, at most some 120 bytes.
    Topics that lie alike share one placement: ten thousand topics that each lie differently on two
    hundred broker names would reach it."""

    epoch_max: int = 1_000_000_000
    """Of a reign: one a second for thirty years. Until brokers prove who they are, anybody may
    claim any epoch, and a higher one would lock the real master out for good."""

    epoch_step_max: int = 1_000_000
    """How far a claimed epoch may be above the one known: more reigns than a lost year has."""

    name_characters_max: int = 512
    """Of a name or address; the longest of RocketMQ's is %RETRY% and a group's 255."""

    listeners_max: int = 16
    """Addresses of one broker beside its normal one."""

    filter_servers_max: int = 64
    """Filter servers of one broker; 4.x started at most a few, 5.x none."""

    kv_bytes_max: int = 8 * 1024 * 1024
    """All of it as JSON, as the file holds it: half a frame, so that a list of it always fits."""

    kv_item_bytes_max: int = 64 * 1024
    """One namespace, key and value as JSON. It travels in a header, where peers may escape it to
    three times that, and headers end at 256 KiB; the order of 2500 brokers takes as much."""

    changes_waiting_max: int = 64
    """Changes of KV, or of settings, that wait for their file: a disk this slow is better refused
    than queued for."""

    answer_cache_bytes_max: int = 32 * 1024 * 1024
    """Encoded routes kept; a placement on fifty brokers takes 12 KB."""

    settings_bytes_max: int = 256 * 1024
    """Properties text of one UPDATE_NAMESRV_CONFIG."""
