"""Headers about consumer groups of a broker: configuration, statistics, subscriptions."""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSubscriptionGroupRequest(Header):
    """DELETE_SUBSCRIPTIONGROUP; the flag to remove offsets too has different names in 4.9 and
    5.x."""

    group_name: str
    remove_offset: bool | None = None
    clean_offset: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetSubscriptionGroupConfigRequest(Header):
    """GET_SUBSCRIPTIONGROUP_CONFIG (5.x)."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateGroupForbiddenRequest(Header):
    """UPDATE_AND_GET_GROUP_FORBIDDEN (5.x)."""

    group: str
    topic: str
    readable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumeStatsRequest(Header):
    """GET_CONSUME_STATS; `topic_list` (5.x) is separated by ";"."""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerConsumeStatsRequest(Header):
    """GET_BROKER_CONSUME_STATS."""

    is_order: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTopicsByConsumerRequest(Header):
    """QUERY_TOPICS_BY_CONSUMER (5.x)."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySubscriptionByConsumerRequest(Header):
    """QUERY_SUBSCRIPTION_BY_CONSUMER (5.x)."""

    group: str
    topic: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeTimeSpanRequest(Header):
    """QUERY_CONSUME_TIME_SPAN."""

    topic: str
    group: str
