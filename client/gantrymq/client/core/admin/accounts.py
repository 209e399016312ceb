"""Accounts of access control as 4.9 and Gantry have it: keys, their rights, addresses let in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gantrymq.client.core.admin.asking import Asking
from gantrymq.wire.bodies.route import texts_from_json
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.admin import (
    DeleteAclConfigRequest,
    GetBrokerAclInfoResponse,
    UpdateAclConfigRequest,
    UpdateGlobalWhiteAddrsRequest,
)
from gantrymq.wire.jsonvalue import Json, JsonObject, list_of, object_of


@dataclass(frozen=True, slots=True)
class AccountTable:
    """All accounts of a broker, as PlainAccessConfig beans; those of Java have secrets."""

    white_addresses: tuple[str, ...]
    accounts: tuple[JsonObject, ...]


@final
class Accounts:
    """Of single brokers, by address. Raises BrokerError where access control is off."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def table(self, address: str) -> AccountTable:
        code = RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG
        return await self._asking.read(address, code, _table)

    async def versions(self, address: str) -> GetBrokerAclInfoResponse:
        """Which state of its accounts a broker has."""
        code = RequestCode.GET_BROKER_CLUSTER_ACL_INFO
        return GetBrokerAclInfoResponse.decode((await self._asking.ask(address, code)).ext)

    async def update(
        self, address: str, account: UpdateAclConfigRequest, old_secret_seconds: int | None = None
    ) -> None:
        """Make an account, or change what is given of it. A broker of Gantry keeps a secret key
        that is replaced valid for so long, -1: until 0 is asked for; brokers of Java do not."""
        code = RequestCode.UPDATE_AND_CREATE_ACL_CONFIG
        seconds = old_secret_seconds
        own = None if seconds is None else {"oldSecretSeconds": str(seconds)}
        await self._asking.ask(address, code, account, own_fields=own)

    async def delete(self, address: str, access_key: str) -> None:
        header = DeleteAclConfigRequest(access_key=access_key)
        await self._asking.ask(address, RequestCode.DELETE_ACL_CONFIG, header)

    async def set_white_addresses(self, address: str, patterns: str, path: str = "") -> None:
        """Who is let in without a key, separated by commas."""
        header = UpdateGlobalWhiteAddrsRequest(global_white_addrs=patterns, acl_file_full_path=path)
        code = RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG
        await self._asking.ask(address, code, header)


def _table(value: Json) -> AccountTable:
    bean = object_of(value, "AclConfig")
    accounts = list_of(bean.get("plainAccessConfigs") or [], "plainAccessConfigs")
    return AccountTable(
        texts_from_json(bean.get("globalWhiteAddrs") or [], "globalWhiteAddrs"),
        tuple(object_of(each, "plainAccessConfigs") for each in accounts),
    )
