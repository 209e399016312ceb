"""Bounds a name server's tables, to protect its memory from faulty peers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameServerLimits:
    """The bounds. A request beyond one is refused and changes nothing."""

    brokers_max: int = 4096
    """Broker processes; the largest known clusters have some hundreds."""

    topics_max: int = 500_000
    """Topics in all, some 150 bytes each if they share placements."""

    placed_queues_max: int = 2_000_000
    """Entries of all distinct placements (a topic on a broker name each), at most some 120 bytes.
    Topics with the same queues share one placement: ten thousand topics, each with different queues
    on two hundred broker names, would reach the bound."""

    epoch_max: int = 1_000_000_000
    """The highest epoch: one a second for thirty years. As long as brokers do not prove their
    identity, any peer may claim any epoch, and too high a one would lock out the real master for
    good."""

    epoch_step_max: int = 1_000_000
    """How far a claimed epoch may exceed the known one: more epochs than a year of outages has."""

    name_characters_max: int = 512
    """Characters of a name or address; RocketMQ's longest is %RETRY% and a group's 255."""

    listeners_max: int = 16
    """Addresses of one broker besides its normal one."""

    filter_servers_max: int = 64
    """Filter servers of one broker; 4.x started a few at most, 5.x none."""

    kv_bytes_max: int = 8 * 1024 * 1024
    """All KV configuration as JSON, as in the file: half a frame, so that a list always fits."""

    kv_item_bytes_max: int = 64 * 1024
    """One namespace, key and value as JSON. It is sent in a header, where peers may escape it to
    three times the size, and headers end at 256 KiB; the order of 2500 brokers takes as much."""

    changes_waiting_max: int = 64
    """Changes of KV configuration or settings that wait for their file. If the disk is slower than
    that, further changes are refused."""

    answer_cache_bytes_max: int = 32 * 1024 * 1024
    """Encoded routes in the cache; a placement on fifty brokers takes 12 KB."""

    settings_bytes_max: int = 256 * 1024
    """The properties text of one UPDATE_NAMESRV_CONFIG."""
