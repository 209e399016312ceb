"""Replication: what brokers of a group tell each other outside the replication stream."""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeHaInfo(Header):
    """EXCHANGE_BROKER_HA_INFO (5.x), the question as well as the answer."""

    master_ha_address: str | None = None
    master_flush_offset: Int64 | None = None
    master_address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetMasterFlushOffsetRequest(Header):
    """RESET_MASTER_FLUSH_OFFSET (5.x)."""

    master_flush_offset: Int64
