"""Headers of Gantry's own requests that administer the quotas of a broker."""

from __future__ import annotations

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuotaRequest(Header):
    """GANTRY_SET_QUOTA: change the limits of one quota, which is created if it does not exist.

    `kind` and `name` are those of wire/bodies/quotas.py. An absent limit stays unchanged, 0 removes
    it from the quota, and -1 disables it: no less specific quota applies instead.
    """

    kind: str
    name: str
    produce_bytes_per_second: Int64 | None = None
    consume_bytes_per_second: Int64 | None = None
    requests_per_second: Int64 | None = None
    storage_bytes: Int64 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteQuotaRequest(Header):
    """GANTRY_DELETE_QUOTA: remove one quota; less specific ones apply from then on."""

    kind: str
    name: str
