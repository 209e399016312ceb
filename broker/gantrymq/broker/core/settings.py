"""Declares the broker's settings: RocketMQ's keys and defaults; a different default says why.

The store has settings of its own in the same file (store/settings.py). Keys of Java's thread pools
and buffers are accepted and shown, so that files and tools work unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gantrymq.base.bounds import LONG_MAX
from gantrymq.base.configuration.settings import Changes, live_setting, setting

_NO_EFFECT: Final = "accepted for compatibility, no effect here"

# A Java slave reads into a buffer of 4 MiB, which must have room for a frame's header too.
HA_BATCH_BYTES_MAX: Final = (4 << 20) - 4096


# The most members that a Lease may name.
MEMBERS_MAX: Final = 64


class BrokerRole(StrEnum):
    """The roles of a broker, with Java's names."""

    ASYNC_MASTER = "ASYNC_MASTER"
    """Takes messages, and answers without waiting for slaves."""
    SYNC_MASTER = "SYNC_MASTER"
    """Takes messages, and answers when a slave has them."""
    SLAVE = "SLAVE"
    """Copies its master and serves reads."""


class HaTls(StrEnum):
    """Whether replication uses TLS. Each step of accepted -> used -> required, taken by one broker
    after the other, leaves all links between them up."""

    ACCEPTED = "accepted"
    """Connects without TLS, and takes connections with and without it."""
    USED = "used"
    """Connects by TLS, and takes connections with and without it."""
    REQUIRED = "required"
    """Connects by TLS, and takes no other connection."""


class MetricsExporter(StrEnum):
    """How metrics are exported: RocketMQ's values, and OTLP_HTTP. The page at /metrics is served
    with every value."""

    DISABLE = "DISABLE"
    """The broker pushes no metrics."""
    PROM = "PROM"
    """The broker pushes no metrics; Prometheus reads its page."""
    LOG = "LOG"
    """The broker pushes no metrics, and unlike Java it logs none."""
    OTLP_GRPC = "OTLP_GRPC"
    """The same as OTLP_HTTP: the broker has no gRPC."""
    OTLP_HTTP = "OTLP_HTTP"
    """The broker pushes metrics to metricsGrpcExporterTarget by OTLP over HTTP."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The settings of one broker, in the order of their keys, as GET_BROKER_CONFIG shows them."""

    acl_credentials_file: str = setting(
        "",
        "accessKey and secretKey with which this broker signs its requests; YAML, as tools.yml",
        changes=Changes.NEVER,
    )
    acl_enable: bool = setting(
        default=False,
        about="accept only signed requests of the accounts in aclFile",
        changes=Changes.NEVER,
    )
    acl_file: str = setting(
        "", "the accounts; config/plain_acl.yml of the store if empty", changes=Changes.NEVER
    )
    acl_file_read_only: bool = setting(
        False,
        "aclFile comes from elsewhere, as a mounted Secret does: no request changes it, and members"
        " of a group do not copy it from their master, but read their own",
        changes=Changes.NEVER,
    )
    audit_log_file: str = setting(
        "",
        "the audit trail, as JSON lines; if empty, it is in the log alone",
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
    auth_key_file: str = setting(
        "",
        "a key of 32 random bytes or more; passwords in config/users.json are encrypted with it",
        changes=Changes.NEVER,
    )
    authentication_enabled: bool = setting(
        default=False,
        about="accept only signed requests of users, as RocketMQ 5 does; config/users.json",
        changes=Changes.NEVER,
    )
    authentication_whitelist: str = setting(
        "",
        "request codes that need no signature, with commas between them",
        changes=Changes.NEVER,
    )
    authorization_enabled: bool = setting(
        default=False,
        about="users may do only what their policies allow; needs authenticationEnabled",
        changes=Changes.NEVER,
    )
    authorization_whitelist: str = setting(
        "", "request codes that need no policy, with commas between them", changes=Changes.NEVER
    )
    auto_create_subscription_group: bool = live_setting(
        default=True, about="the first consumer of a missing group creates it"
    )
    auto_create_topic_enable: bool = live_setting(
        default=False, about="the first message to a missing topic creates it"
    )
    auto_created_group_expire_hours: int = live_setting(
        24,
        "a group that a consumer created, and that has no members, no offsets and no pulls for so"
        " long, is removed; the next consumer that names it creates it again. 0 keeps it",
        unit="h",
        lowest=0,
        highest=24 * 365,
    )
    bind_address: str = setting("0.0.0.0", "the address the listeners bind")
    broker_cluster_name: str = setting("DefaultCluster", "the cluster's name")
    broker_id: int = setting(
        0, "0 is the master; each slave has another one", lowest=0, highest=LONG_MAX
    )
    broker_ip1: str = setting(
        "",
        "the address or host name for clients; the machine's first address if empty",
        key="brokerIP1",
    )
    broker_ip2: str = setting("", "the address for slaves; brokerIP1 if empty", key="brokerIP2")
    broker_name: str = setting("", "the group of master and slaves; the host's name if empty")
    broker_permission: int = live_setting(6, "2 write, 4 read", lowest=0, highest=7)
    broker_role: BrokerRole = setting(
        BrokerRole.ASYNC_MASTER,
        "a master that waits for slaves, a master that does not, or a slave; with groupMembers,"
        " whether the elected master waits",
    )
    broker_topic_enable: bool = setting(
        default=True, about="the topic with the broker's name accepts messages"
    )
    channel_expired_timeout: int = live_setting(
        120_000, "silence after which a client is removed", unit="ms", lowest=1
    )
    client_cert_accounts: str = setting(
        "",
        "the account or user that a client's verified certificate stands for without a signature:"
        " rules as CN:orders-service=orders;DNS:*.billing=billing;CN:*=*",
        changes=Changes.NEVER,
    )
    cluster_topic_enable: bool = setting(
        default=True, about="the topic of the cluster's name takes messages"
    )
    compressed_register: bool = live_setting(
        default=False, about="register with name servers zipped"
    )
    config_black_list: str = setting(
        "configBlackList;brokerConfigPath",
        "keys UPDATE_BROKER_CONFIG may not change",
        changes=Changes.NEVER,
    )
    default_topic_queue_nums: int = setting(
        8, "queues of a topic that is created by a message, at most", lowest=1
    )
    enable_property_filter: bool = live_setting(default=True, about="consumers may filter by SQL92")
    fetch_namesrv_addr_by_address_server: bool = live_setting(default=False, about=_NO_EFFECT)
    filter_server_nums: int = setting(0, _NO_EFFECT)
    filter_support_retry: bool = live_setting(
        default=False, about="filters apply to retried messages as well"
    )
    flush_consumer_offset_interval: int = live_setting(
        5_000, "how long a committed offset may wait for the disk", unit="ms", lowest=1
    )
    flush_delay_offset_interval: int = live_setting(
        10_000, "how long the progress of delays may wait for the disk", unit="ms", lowest=1
    )
    force_register: bool = setting(
        default=True, about="register each time, whether something changed or not"
    )
    full_signature_required: bool = setting(
        default=False,
        about="take only signatures that cover the request code, which RocketMQ's clients cannot"
        " make",
        changes=Changes.NEVER,
    )
    group_address: str = setting(
        "",
        "address that leads to whichever member is master, as ip or ip:port (listenPort if there is"
        " no port); clients get it instead of the master's own address, unless it is empty",
    )
    group_members: str = setting(
        "",
        "the brokers that elect their master, number=host:haPort, comma-separated; else roles are"
        " as brokerRole says",
    )
    group_secret_file: str = setting(
        "",
        "what members, or a master and its slaves, prove themselves to each other by: the same 16"
        " bytes or more at each of them, read again when the file changes",
        changes=Changes.NEVER,
    )
    ha_allow_unauthenticated_slaves: bool = setting(
        default=False,
        about="send all messages to whatever connects to haListenPort, and believe that it has"
        " them, as slaves of Java need it, although aclEnable, tls.server.mode=enforcing or"
        " groupSecretFile asks for a proof",
        changes=Changes.NEVER,
    )
    ha_bind_address: str = setting("", "the address that haListenPort binds; bindAddress if empty")
    ha_housekeeping_interval: int = setting(
        20_000, "silence after which master and slave give their connection up", unit="ms", lowest=1
    )
    ha_listen: bool = setting(
        default=True,
        about="listen for slaves at haListenPort; where slaves would have to prove themselves and"
        " there is no groupSecretFile, that port is closed anyway",
    )
    ha_listen_port: int = setting(
        0, "the port slaves connect to; listenPort + 1 if 0", lowest=0, highest=65_535
    )
    ha_master_address: str = setting(
        "", "where a slave's master listens for slaves; name servers say it if empty"
    )
    ha_max_gap_not_in_sync: int = setting(
        256 << 20, "a slave that is further behind is shown as not in sync", unit="bytes", lowest=1,
        highest=LONG_MAX,
    )  # fmt: skip
    ha_send_heartbeat_interval: int = setting(
        5_000, "silence after which master and slave send a sign of life", unit="ms", lowest=1
    )
    ha_slave_fallbehind_max: int = setting(
        256 << 20, "SYNC_MASTER waits for no slave that is further behind", unit="bytes", lowest=1,
        highest=LONG_MAX,
    )  # fmt: skip
    ha_transfer_batch_size: int = setting(
        32_768, "the log's bytes in one frame to a slave", unit="bytes", lowest=1,
        highest=HA_BATCH_BYTES_MAX,
    )  # fmt: skip
    ha_tls: HaTls = setting(
        HaTls.ACCEPTED,
        "TLS between master, slaves and members: used and required connect by it, accepted and"
        " required take connections with both or with it alone; unset, required where"
        " tls.server.mode=enforcing",
    )
    init_authentication_user: str = setting(
        "",
        'a Super user that is created at the start where it is missing: {"username":"root",'
        '"password":"..."}',
        secret=True,
        changes=Changes.NEVER,
    )
    inner_client_authentication_credentials: str = setting(
        "",
        "what this broker signs with where aclCredentialsFile names no file, a Super user that is"
        ' created where it is missing: {"accessKey":"broker","secretKey":"..."}',
        secret=True,
        changes=Changes.NEVER,
    )
    lease_name: str = setting(
        "", "the Lease by which members elect; if empty brokerClusterName-brokerName in lower case"
        " letters, with a digest where other names could give the same",
    )  # fmt: skip
    lease_namespace: str = setting("", "the Lease's namespace; the pod's if empty")
    lease_url: str = setting(
        "", "the Kubernetes API that has the Lease; that of the pod's cluster if empty"
    )
    listen_port: int = setting(10911, "the port of the broker", lowest=0, highest=65_535)
    long_polling_enable: bool = live_setting(
        default=True, about="pulls wait as long as they ask for; else shortPollingTimeMills"
    )
    max_connections: int = setting(
        10_000,
        "connections to both ports together; fewer where the process may have fewer files",
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
        "memory for all that is kept for clients: incomplete frames, waiting requests, held pulls,"
        " subscriptions, topics and groups; at least 32 MiB; if 0, 3/8 of the memory of the machine"
        " or container, at least 96 MiB and at most 1 GiB",
        unit="bytes",
        lowest=0,
        highest=LONG_MAX,
    )
    max_queues_of_topics: int = live_setting(
        1_000_000,
        "the sum of the queues of all topics, beyond which no topic is made and none gets more",
        lowest=1,
    )
    member_number: int = setting(
        0,
        "which of groupMembers this broker is; one more than the number at the end of the host's"
        " name if 0",
        lowest=0,
        highest=MEMBERS_MAX,
    )
    metric_grpc_exporter_interval_in_mills: int = setting(
        60_000, "ms between two pushes of all metrics", lowest=1000
    )
    metric_grpc_exporter_time_out_in_mills: int = setting(
        3000, "ms that a collector has to take one request of a push", lowest=1
    )
    metrics_bind_address: str = setting(
        "", "the address that metricsPort binds; bindAddress if empty"
    )
    metrics_exporter_type: MetricsExporter = setting(
        MetricsExporter.DISABLE,
        "OTLP_GRPC or OTLP_HTTP push metrics to metricsGrpcExporterTarget, both by OTLP over HTTP",
    )
    metrics_grpc_exporter_header: str = setting(
        "",
        "headers of the requests of a push: name:value, several with commas between them",
        secret=True,
    )
    metrics_grpc_exporter_target: str = setting(
        "", "a collector's receiver of OTLP over HTTP: host:4318, or its URL"
    )
    metrics_label: str = setting(
        "", "further labels of every metric: name:value, several with commas between them"
    )
    metrics_otel_cardinality_limit: int = setting(
        50_000,
        "series that /metrics shows of one metric; those beyond it are counted and left out",
        lowest=1,
    )
    metrics_port: int = setting(
        5557, "health and metrics over HTTP; 0 switches them off", lowest=0, highest=65_535
    )
    metrics_queue_lag_enable: bool = live_setting(
        default=False,
        about="/metrics shows the lag of each queue of each group as well; at most as many series"
        " as metricsOtelCardinalityLimit says",
    )
    metrics_token_file: str = setting(
        "",
        "a file with the bearer token that clients need to read /metrics, one or two lines, read"
        " again when it changes; probes need none. Empty: every client may read",
        changes=Changes.NEVER,
    )
    migrate_auth_from_v1_enabled: bool = setting(
        default=False,
        about="make users and policies at the start of those accounts of aclFile that are no users",
        changes=Changes.NEVER,
    )
    min_in_sync_replicas: int = setting(
        0,
        "number of members, the master included, that must be in sync before a SYNC_MASTER of"
        " groupMembers acknowledges a send; 0 stands for 2",
        lowest=0,
        highest=MEMBERS_MAX,
    )
    msg_trace_topic_name: str = setting("RMQ_SYS_TRACE_TOPIC", "the topic of message traces")
    namesrv_addr: str = setting("", "name servers, address:port, ;-separated")
    notify_consumer_ids_changed_enable: bool = live_setting(
        default=True, about="notify consumers when members of their group join or leave"
    )
    offset_check_in_slave: bool = setting(
        default=False, about="a slave corrects the offsets of pulls as a master does"
    )
    publish_service: str = setting(
        "", "the Service, without a selector, that a master of groupMembers leads to itself"
    )
    quota_delay_max_millis: int = live_setting(
        1_000,
        "how long a quota that is used up may delay a connection's requests; sends that would wait"
        " longer are refused as busy. Producers give up after 3 s",
        unit="ms",
        lowest=0,
        highest=10_000,
    )
    quota_file: str = setting(
        "", "the quotas; config/quotas.json of the store if empty", changes=Changes.NEVER
    )
    quota_pull_delay_max_millis: int = live_setting(
        5_000,
        "how long a quota that is used up may delay the answer to a pull or pop; those that would"
        " wait longer are refused as busy. Consumers give up after 10 s",
        unit="ms",
        lowest=0,
        highest=60_000,
    )
    recall_message_enable: bool = live_setting(
        default=True, about="producers may recall timer messages; false in Java"
    )
    region_id: str = live_setting("DefaultRegion", "the region in every answer to a send")
    register_broker_timeout_mills: int = live_setting(
        24_000, "how long a name server may take to answer", unit="ms", lowest=1
    )
    register_name_server_period: int = live_setting(
        30_000, "time between registrations", unit="ms", lowest=10_000, highest=60_000
    )
    reject_pull_consumer_enable: bool = live_setting(default=False, about=_NO_EFFECT)
    reject_transaction_message: bool = live_setting(
        default=False, about="refuse transactional messages"
    )
    secure_defaults: bool = setting(
        default=False,
        about="protect the server: TLS is enforced, access control is on, metrics are on loopback"
        " or need a token, slaves prove themselves; the server does not start while something for"
        " that is missing, and says what",
        changes=Changes.NEVER,
    )
    server_channel_max_idle_time_seconds: int = setting(
        120, "silence after which a connection is closed", unit="s", lowest=1
    )
    server_socket_backlog: int = setting(1024, "connections the kernel keeps waiting", lowest=1)
    short_polling_time_mills: int = live_setting(
        1_000, "how long a pull waits without longPollingEnable", unit="ms", lowest=1
    )
    slave_read_enable: bool = live_setting(
        default=False, about="suggest a slave to slow readers; without a master it serves anyway"
    )
    start_accept_send_request_time_stamp: int = live_setting(
        0, "no message is taken before this wall-clock time", unit="ms", highest=LONG_MAX
    )
    store_reply_message_enable: bool = live_setting(default=True, about="keep replies to requests")
    timer_max_delay_sec: int = live_setting(
        365 * 86_400, "the longest delay of a timer message", unit="s", lowest=1
    )
    timer_wheel_enable: bool = live_setting(default=True, about="accept timer messages")
    trace_on: bool = live_setting(default=True, about="tell clients that traces are wanted")
    trace_topic_enable: bool = setting(default=True, about="make the topic of message traces")
    transaction_check_interval: int = live_setting(
        30_000, "time between looks for transactions to check back", unit="ms", lowest=1
    )
    transaction_check_max: int = live_setting(
        15, "checks of a transaction before it is given up", lowest=1
    )
    transaction_time_out: int = live_setting(
        6_000, "age at which an open transaction is checked first", unit="ms", lowest=1
    )
    use_server_side_reset_offset: bool = live_setting(
        default=True, about="the broker itself resets offsets, at the next pull"
    )
    use_tls: bool = setting(
        default=False,
        about="dial name servers and brokers by TLS; unset, tls.enable and tls.server.mode decide",
        key="useTLS",
    )
    validate_system_topic_when_update_topic: bool = live_setting(
        default=True, about="refuse changes of system topics"
    )
    wait_time_mills_in_send_queue: int = live_setting(
        200, "a send that would wait longer is refused as busy", unit="ms", lowest=1
    )
