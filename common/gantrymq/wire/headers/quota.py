"""Requests of administrators for the quotas of one broker: codes of Gantry's own."""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuotaRequest(Header):
    """GANTRY_SET_QUOTA: change the limits of one quota, which is created where there is none.

    `kind` and `name` are those of wire/bodies/quotas.py. A limit that is absent stays as it is, 0
    removes it from the quota, and -1 lifts it: no wider quota applies in its place.
    """

    kind: str
    name: str
    produce_bytes_per_second: Int64 | None = None
    consume_bytes_per_second: Int64 | None = None
    requests_per_second: Int64 | None = None
    storage_bytes: Int64 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteQuotaRequest(Header):
    """GANTRY_DELETE_QUOTA: remove one quota; a wider one applies from then on."""

    kind: str
    name: str
