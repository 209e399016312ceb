"""Declares a name server's settings: RocketMQ's keys with their defaults, and some of Gantry's.

Keys of Java's thread pools and buffers are accepted and shown, so that configuration files and
tools work unchanged. They have no effect on one event loop, and their descriptions say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gantrymq.base.bounds import LONG_MAX
from gantrymq.base.configuration.setting_changes import SettingsTable
from gantrymq.base.configuration.settings import (
    Changes,
    Layer,
    Source,
    bind,
    live_setting,
    setting,
    settings_to_text,
)

_NO_EFFECT: Final = "accepted for compatibility, no effect here"


@dataclass(frozen=True, slots=True)
class NameServerSettings:
    """All settings, in the order of their keys, as GET_NAMESRV_CONFIG shows them."""

    acl_enable: bool = setting(
        default=False,
        about="accept only signed requests of the accounts in aclFile; a Gantry addition",
        changes=Changes.NEVER,
    )
    acl_file: str = setting(
        "", "the file of accounts; ~/namesrv/plain_acl.yml if empty", changes=Changes.NEVER
    )
    audit_log_file: str = setting(
        "",
        "the file of the audit trail, as JSON lines; if empty, audit entries are in the log only",
        changes=Changes.NEVER,
    )
    audit_log_file_count: int = setting(
        8, "files of the audit trail, the current one included", lowest=1, highest=1000
    )
    audit_log_file_size: int = setting(
        64 << 20,
        "auditLogFile is rotated before it is larger",
        unit="bytes",
        lowest=64 << 10,
        highest=1 << 30,
    )
    bind_address: str = setting("0.0.0.0", "the address the listener binds")
    broker_channel_expired_time: int = live_setting(
        120_000,
        "silence after which a broker counts as dead, unless its registration sets another time",
        unit="ms",
        lowest=1,
    )
    client_request_thread_pool_nums: int = live_setting(8, _NO_EFFECT)
    client_request_thread_pool_queue_capacity: int = live_setting(50_000, _NO_EFFECT)
    cluster_test: bool = live_setting(default=False, about=_NO_EFFECT)
    config_black_list: str = setting(
        "configBlackList;configStorePath;kvConfigPath",
        "keys UPDATE_NAMESRV_CONFIG may not change",
        changes=Changes.NEVER,
    )
    config_store_path: str = setting(
        "",
        "the file that UPDATE_NAMESRV_CONFIG writes; the -c file if given",
        changes=Changes.NEVER,
    )
    default_thread_pool_nums: int = live_setting(16, _NO_EFFECT)
    default_thread_pool_queue_capacity: int = live_setting(10_000, _NO_EFFECT)
    delete_topic_with_broker_registration: bool = live_setting(
        default=False, about="remove topics of a broker that its full registration no longer lists"
    )
    enable_all_topic_list: bool = live_setting(
        default=True, about="answer GET_ALL_TOPIC_LIST_FROM_NAMESERVER"
    )
    enable_controller_in_namesrv: bool = live_setting(default=False, about=_NO_EFFECT)
    enable_shutdown_gracefully: bool = live_setting(default=False, about=_NO_EFFECT)
    enable_topic_list: bool = live_setting(default=True, about="answer the other lists of topics")
    kv_config_path: str = setting("", "the file of KV configuration", changes=Changes.NEVER)
    listen_port: int = setting(9876, "the port of the listener", lowest=0, highest=65_535)
    listeners: str = setting(
        "", "name:address:port,... instead of bindAddress and listenPort; brokers may register an"
        " address for each name"
    )  # fmt: skip
    max_connections: int = setting(
        10_000,
        "connections to all listeners; fewer where the process may have fewer files",
        lowest=1,
    )
    max_connections_exempt: str = setting(
        "127.0.0.0/8,::1",
        "addresses and networks, comma-separated, that maxConnectionsPerAddress does not bound",
    )
    max_connections_per_address: int = setting(
        2_500, "connections of one address; many clients may share one behind a gateway", lowest=1
    )
    max_peer_memory: int = setting(
        0,
        "memory for all that is kept for clients and brokers: incomplete frames, waiting requests,"
        " routes; at least 32 MiB; if 0, 3/8 of the memory of the machine or container, at least"
        " 96 MiB and at most 1 GiB",
        unit="bytes",
        lowest=0,
        highest=LONG_MAX,
    )
    max_requests_per_second_per_address: int = live_setting(
        0,
        "requests a second of one address, the machine's own included; more are delayed, then"
        " refused with SYSTEM_BUSY; 0: no limit",
        lowest=0,
        highest=1_000_000,
    )
    metrics_bind_address: str = setting(
        "", "the address that metricsPort binds; bindAddress if empty"
    )
    metrics_port: int = setting(
        5558, "health and metrics over HTTP; 0 switches them off", lowest=0, highest=65_535
    )
    metrics_token_file: str = setting(
        "",
        "a file with the bearer token that clients need to read /metrics, one or two lines, read"
        " again when it changes; probes need none. Empty: every client may read",
        changes=Changes.NEVER,
    )
    need_wait_for_service: bool = live_setting(
        default=False, about="refuse route requests for waitSecondsForService after the start"
    )
    notify_min_broker_id_changed: bool = live_setting(
        default=False, about="tell a group's brokers when its lowest broker id changes"
    )
    order_message_enable: bool = live_setting(
        default=False, about="put ORDER_TOPIC_CONFIG into the routes of ordered topics"
    )
    product_env_name: str = live_setting("center", _NO_EFFECT)
    quota_delay_max_millis: int = live_setting(
        1000,
        "how long maxRequestsPerSecondPerAddress may delay a connection's requests; those that"
        " would wait longer are refused",
        unit="ms",
        lowest=0,
        highest=10_000,
    )
    return_order_topic_config_to_broker: bool = live_setting(
        default=True, about="answer registrations with ORDER_TOPIC_CONFIG"
    )
    rocketmq_home: str = setting("", _NO_EFFECT, changes=Changes.NEVER)
    scan_not_active_broker_interval: int = live_setting(
        5000, "interval of the search for dead brokers", unit="ms", lowest=1
    )
    secure_defaults: bool = setting(
        default=False,
        about="protect the server: TLS is enforced, access control is on, metrics are on loopback"
        " or need a token; if a requirement is missing, the server names it and does not start",
        changes=Changes.NEVER,
    )
    server_async_semaphore_value: int = live_setting(64, _NO_EFFECT)
    server_callback_executor_threads: int = live_setting(0, _NO_EFFECT)
    server_channel_max_idle_time_seconds: int = setting(
        120, "silence after which a connection is closed", unit="s", lowest=1
    )
    server_netty_worker_group_enable: bool = live_setting(default=True, about=_NO_EFFECT)
    server_oneway_semaphore_value: int = live_setting(256, _NO_EFFECT)
    server_pooled_byte_buf_allocator_enable: bool = live_setting(default=True, about=_NO_EFFECT)
    server_selector_threads: int = live_setting(3, _NO_EFFECT)
    server_socket_backlog: int = setting(1024, "connections the system may keep waiting", lowest=1)
    server_socket_rcv_buf_size: int = live_setting(0, _NO_EFFECT)
    server_socket_snd_buf_size: int = live_setting(0, _NO_EFFECT)
    server_worker_threads: int = live_setting(8, _NO_EFFECT)
    shutdown_wait_time_seconds: int = live_setting(30, _NO_EFFECT)
    support_acting_master: bool = live_setting(
        default=False, about="show the lowest slave of a masterless group as its read-only master"
    )
    un_register_broker_queue_capacity: int = live_setting(3000, _NO_EFFECT)
    use_epoll_native_selector: bool = live_setting(default=False, about=_NO_EFFECT)
    wait_seconds_for_service: int = live_setting(45, "see needWaitForService", unit="s", lowest=0)
    warm_up_seconds: int = live_setting(
        0,
        "for so long after the start, requests for unknown topics are answered with not ready"
        " instead of no route, because their brokers may not have registered yet",
        unit="s",
        lowest=0,
    )  # fmt: skip
    write_buffer_high_water_mark: int = live_setting(0, _NO_EFFECT)
    write_buffer_low_water_mark: int = live_setting(0, _NO_EFFECT)


def changed_settings(before: NameServerSettings, changes: Mapping[str, str]) -> NameServerSettings:
    """The settings with other values for these keys, all of which must be known."""
    texts = {**settings_to_text(before), **changes}
    bound = bind(NameServerSettings, [Layer(Source.SAVED, texts)])
    assert not bound.unknown, "unknown keys are left out before"
    return bound.settings


SETTINGS: Final = SettingsTable("name server", [NameServerSettings])


def refused_keys(settings: NameServerSettings) -> frozenset[str]:
    """The keys that no request may change."""
    listed = (key.strip() for key in settings.config_black_list.split(";"))
    return SETTINGS.never.union(filter(None, listed))
