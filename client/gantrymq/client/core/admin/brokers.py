"""Reads and changes single brokers: settings, runtime figures, clean-up and replication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.base.configuration.properties import (
    decode_properties,
    format_properties,
    parse_properties,
)
from gantrymq.client.core.admin.asking import Asking
from gantrymq.wire.bodies.consuming.stats import BrokerStatsData
from gantrymq.wire.bodies.ha_status import HaStatus
from gantrymq.wire.bodies.kv import kv_table_from_json
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.admin import ViewBrokerStatsRequest
from gantrymq.wire.headers.ha import ResetMasterFlushOffsetRequest

UPKEEP_TIMEOUT_S: Final = 60.0
"""Timeout of clean-up requests: the broker answers after it has deleted the files."""


@final
class Brokers:
    """Requests to single brokers, by address."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def figures(self, address: str) -> dict[str, str]:
        """Return the broker's runtime information (its counters and gauges)."""
        code = RequestCode.GET_BROKER_RUNTIME_INFO
        return await self._asking.read(address, code, kv_table_from_json)

    async def settings(self, address: str) -> dict[str, str]:
        """Return every setting with its current value."""
        answer = await self._asking.ask(address, RequestCode.GET_BROKER_CONFIG)
        return parse_properties(decode_properties(answer.body))

    async def change(self, address: str, settings: Mapping[str, str]) -> None:
        """Change settings permanently: the broker writes them to its configuration file."""
        body = format_properties(settings).encode()
        await self._asking.ask(address, RequestCode.UPDATE_BROKER_CONFIG, body=body)

    async def stats(self, address: str, name: str, key: str) -> BrokerStatsData:
        """Return recent traffic of a topic or group; raises BrokerError (1) if there was none
        yet."""
        header = ViewBrokerStatsRequest(stats_name=name, stats_key=key)
        code = RequestCode.VIEW_BROKER_STATS_DATA
        return await self._asking.read(address, code, BrokerStatsData.from_json, header)

    async def replication(self, address: str) -> HaStatus:
        """Return the replication progress: of a master's slaves, or of a slave towards its master
        (5.x)."""
        code = RequestCode.GET_BROKER_HA_STATUS
        return await self._asking.read(address, code, HaStatus.from_json)

    async def reset_master_flush_offset(self, address: str, offset: int) -> None:
        """Set the position up to which a slave takes its master's log as flushed (5.x)."""
        header = ResetMasterFlushOffsetRequest(master_flush_offset=offset)
        await self._asking.ask(address, RequestCode.RESET_MASTER_FLUSH_OFFSET, header)

    async def clean_expired_queues(self, address: str) -> None:
        """Delete the consume queue files whose messages were deleted."""
        code = RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE
        await self._asking.ask(address, code, timeout_s=UPKEEP_TIMEOUT_S)

    async def clean_unused_topics(self, address: str) -> None:
        """Delete the consume queues of topics that no longer exist."""
        code = RequestCode.CLEAN_UNUSED_TOPIC
        await self._asking.ask(address, code, timeout_s=UPKEEP_TIMEOUT_S)

    async def delete_expired_log(self, address: str) -> None:
        """Delete expired commit log files now."""
        code = RequestCode.DELETE_EXPIRED_COMMITLOG
        await self._asking.ask(address, code, timeout_s=UPKEEP_TIMEOUT_S)


def day_total(stats: BrokerStatsData) -> int:
    """Return the messages of a day. A broker that started recently has only an hour's or a
    minute's."""
    return stats.day.total or stats.hour.total or stats.minute.total
