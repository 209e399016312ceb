"""Headers that brokers of a group exchange outside of the replication stream."""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeHaInfo(Header):
    """EXCHANGE_BROKER_HA_INFO (5.x), the request and the response."""

    master_ha_address: str | None = None
    master_flush_offset: Int64 | None = None
    master_address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetMasterFlushOffsetRequest(Header):
    """RESET_MASTER_FLUSH_OFFSET (5.x)."""

    master_flush_offset: Int64
