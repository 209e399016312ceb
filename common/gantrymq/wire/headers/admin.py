"""Headers for administration of a broker: its configuration, statistics and access control."""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerConfigResponse(Header):
    """`version` is the DataVersion of the configuration as JSON."""

    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBrokerStatsRequest(Header):
    """VIEW_BROKER_STATS_DATA."""

    stats_name: str
    stats_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateAclConfigRequest(Header):
    """UPDATE_AND_CREATE_ACL_CONFIG (4.9); lists are joined by commas."""

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool | None = None
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclConfigRequest(Header):
    """DELETE_ACL_CONFIG (4.9)."""

    access_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateGlobalWhiteAddrsRequest(Header):
    """UPDATE_GLOBAL_WHITE_ADDRS_CONFIG (4.9)."""

    global_white_addrs: str
    acl_file_full_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerAclInfoResponse(Header):
    """The response to GET_BROKER_CLUSTER_ACL_INFO (4.9)."""

    version: str
    all_acl_file_version: str | None = None
    broker_name: str
    broker_addr: str
    cluster_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRequest(Header):
    """AUTH_CREATE_USER, AUTH_UPDATE_USER, AUTH_DELETE_USER, AUTH_GET_USER (5.x)."""

    username: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListUsersRequest(Header):
    """AUTH_LIST_USER (5.x)."""

    filter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AclRequest(Header):
    """AUTH_CREATE_ACL, AUTH_UPDATE_ACL, AUTH_GET_ACL (5.x)."""

    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAclRequest(Header):
    """AUTH_DELETE_ACL (5.x)."""

    subject: str | None = None
    policy_type: str | None = None
    resource: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAclsRequest(Header):
    """AUTH_LIST_ACL (5.x)."""

    subject_filter: str | None = None
    resource_filter: str | None = None
