"""Headers of the name server: routes, registration of brokers, key-value configuration."""

from __future__ import annotations

from typing import Annotated, Final

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Int64, Wire

# An additional field of a registration and an unregistration: the epoch that the sender knows, in a
# group that elects its master. Java ignores it.
EPOCH_FIELD: Final = "gantryEpoch"


@dataclass(frozen=True, slots=True, kw_only=True)
class GetRouteInfoRequest(Header):
    """GET_ROUTEINFO_BY_TOPIC."""

    topic: str
    accept_standard_json_only: bool | None = None
    zone_mode: Annotated[str | None, Wire("__ZONE_MODE")] = None
    zone_name: Annotated[str | None, Wire("__ZONE_NAME")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRequest(Header):
    """REGISTER_BROKER."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Int64
    compressed: bool | None = None
    body_crc32: Int32 | None = None
    heartbeat_timeout_millis: Int64 | None = None
    enable_acting_master: bool | None = None
    zone_name: Annotated[str | None, Wire("__ZONE_NAME")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerResponse(Header):
    """Tells a slave its master's addresses, if the master is known."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRequest(Header):
    """UNREGISTER_BROKER."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDataVersionRequest(Header):
    """QUERY_DATA_VERSION; also counts as a sign of life."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDataVersionResponse(Header):
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequest(Header):
    """BROKER_HEARTBEAT (5.x)."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Int64 | None = None
    epoch: Int32 | None = None
    max_offset: Int64 | None = None
    confirm_offset: Int64 | None = None
    heartbeat_timeout_mills: Int64 | None = None
    election_priority: Int32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerMemberGroupRequest(Header):
    """GET_BROKER_MEMBER_GROUP (5.x)."""

    cluster_name: str
    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyMinBrokerIdChangeRequest(Header):
    """NOTIFY_MIN_BROKER_ID_CHANGE (5.x), name server to broker, oneway."""

    min_broker_id: Int64 | None = None
    broker_name: str | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutKvConfigRequest(Header):
    """PUT_KV_CONFIG."""

    namespace: str
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KvConfigKeyRequest(Header):
    """GET_KV_CONFIG, DELETE_KV_CONFIG."""

    namespace: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKvConfigResponse(Header):
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetKvListRequest(Header):
    """GET_KVLIST_BY_NAMESPACE."""

    namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicsByClusterRequest(Header):
    """GET_TOPICS_BY_CLUSTER."""

    cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePermRequest(Header):
    """WIPE_WRITE_PERM_OF_BROKER, ADD_WRITE_PERM_OF_BROKER."""

    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WipeWritePermResponse(Header):
    wipe_topic_count: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWritePermResponse(Header):
    add_topic_count: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicInNamesrvRequest(Header):
    """DELETE_TOPIC_IN_NAMESRV."""

    topic: str
    cluster_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterTopicRequest(Header):
    """REGISTER_TOPIC_IN_NAMESRV (5.x)."""

    topic: str
