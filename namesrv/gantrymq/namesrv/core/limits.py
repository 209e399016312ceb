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

    name_characters_max: int = 512
    """Of a name or address; the longest of RocketMQ's is %RETRY% and a group's 255."""

    listeners_max: int = 16
    """Addresses of one broker beside its normal one."""

    filter_servers_max: int = 64
    """Filter servers of one broker; 4.x started at most a few, 5.x none."""

    kv_bytes_max: int = 8 * 1024 * 1024
    """All namespaces, keys and values: a list of them must fit into one frame, escaped."""

    kv_item_bytes_max: int = 256 * 1024
    """One namespace, key and value; the order configuration of 4096 brokers takes 100 KB."""

    changes_waiting_max: int = 64
    """Changes of KV, or of settings, that wait for their file: a disk this slow is better refused
    than queued for, and what waits is not yet counted in kv_bytes_max."""

    answer_cache_bytes_max: int = 32 * 1024 * 1024
    """Encoded routes kept; a placement on fifty brokers takes 12 KB."""

    settings_bytes_max: int = 256 * 1024
    """Properties text of one UPDATE_NAMESRV_CONFIG."""
