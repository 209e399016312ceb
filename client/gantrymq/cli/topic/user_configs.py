"""Collects the topics and groups of several brokers, without those of the system."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame.page import members
from gantrymq.client.core.admin.groups import DEAD_LETTER_PREFIX, RETRY_PREFIX
from gantrymq.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

_SYSTEM_GROUPS: Final = (
    *("CID_RMQ_SYS_", "CID_ONSAPI_", "CID_ONS-HTTP-PROXY", "CID_ONSAPI-", "SELF_TEST_"),
    *("TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "__MONITOR_CONSUMER", "CID_SYS_RMQ_TRANS"),
    *("SCHEDULE_CONSUMER", "DEFAULT_CONSUMER", "CLIENT_INNER_PRODUCER"),
)


async def user_topics(
    admin: Administration, addresses: Collection[str], *, with_special: bool = False
) -> JsonObject:
    """Return the settings of topics. The queues of a topic at several brokers are added up."""
    merged: dict[str, JsonObject] = {}
    admin.pace.begin(len(addresses))
    for address in addresses:
        system = set(await admin.topics.system_names(address))
        for topic, config in (await admin.topics.configs(address)).items():
            is_special = topic.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX))
            if topic in system or (is_special and not with_special):
                continue
            value = config.to_json()
            before = merged.get(topic)
            if before is not None:
                for queues in ("readQueueNums", "writeQueueNums"):
                    value[queues] = int(str(value[queues])) + int(str(before[queues]))
            merged[topic] = value
        admin.pace.advance()
    admin.pace.end()
    return members(merged)


async def user_groups(admin: Administration, addresses: Collection[str]) -> JsonObject:
    merged: JsonObject = {}
    for address in addresses:
        for group, config in (await admin.groups.configs(address)).items():
            if not group.startswith(_SYSTEM_GROUPS):
                merged[group] = config.to_json()
    return merged
