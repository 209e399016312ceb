"""Quotas of single brokers: requests of Gantry's own, which brokers of Java do not know."""

from __future__ import annotations

from typing import final

from gantrymq.client.core.admin.asking import Asking
from gantrymq.wire.bodies.quotas import QuotaTableBody
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.quota import DeleteQuotaRequest, SetQuotaRequest


@final
class Quotas:
    """The quotas of brokers, by the address of a master."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def table(self, address: str) -> QuotaTableBody:
        """All quotas, and those users, topics, groups and addresses that use most of them."""
        code = RequestCode.GANTRY_LIST_QUOTAS
        return await self._asking.read(address, code, QuotaTableBody.from_json)

    async def set(self, address: str, change: SetQuotaRequest) -> None:
        """Change the limits that are given of one quota, which is made where there is none."""
        await self._asking.ask(address, RequestCode.GANTRY_SET_QUOTA, change)

    async def delete(self, address: str, kind: str, name: str) -> None:
        """Wider quotas apply from then on. Raises BrokerError where there is no such quota."""
        header = DeleteQuotaRequest(kind=kind, name=name)
        await self._asking.ask(address, RequestCode.GANTRY_DELETE_QUOTA, header)
