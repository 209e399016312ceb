"""Manages quotas of single brokers by Gantry's own requests, which Java brokers do not know."""

from __future__ import annotations

from typing import final

from gantrymq.client.core.admin.asking import Asking
from gantrymq.wire.bodies.quotas import QuotaTableBody
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.quota import DeleteQuotaRequest, SetQuotaRequest


@final
class Quotas:
    """Quota requests, by the address of a master."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def table(self, address: str) -> QuotaTableBody:
        """Return all quotas, and the users, topics, groups and addresses that use most of
        theirs."""
        code = RequestCode.GANTRY_LIST_QUOTAS
        return await self._asking.read(address, code, QuotaTableBody.from_json)

    async def set(self, address: str, change: SetQuotaRequest) -> None:
        """Set the given limits of one quota; the quota is created if it does not exist."""
        await self._asking.ask(address, RequestCode.GANTRY_SET_QUOTA, change)

    async def delete(self, address: str, kind: str, name: str) -> None:
        """Delete a quota, after which wider quotas apply. Raises BrokerError if it does not
        exist."""
        header = DeleteQuotaRequest(kind=kind, name=name)
        await self._asking.ask(address, RequestCode.GANTRY_DELETE_QUOTA, header)
