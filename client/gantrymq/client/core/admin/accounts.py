"""Manages the ACL accounts of RocketMQ 4.9 and Gantry: keys, permissions, allowed addresses."""

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
    """All accounts of a broker, as PlainAccessConfig beans. Java brokers include the secret
    keys."""

    white_addresses: tuple[str, ...]
    accounts: tuple[JsonObject, ...]


@final
class Accounts:
    """ACL requests to single brokers, by address. Each raises BrokerError if ACL is off there."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def table(self, address: str) -> AccountTable:
        code = RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG
        return await self._asking.read(address, code, _table)

    async def versions(self, address: str) -> GetBrokerAclInfoResponse:
        """Return the data versions of the broker's ACL files."""
        code = RequestCode.GET_BROKER_CLUSTER_ACL_INFO
        return GetBrokerAclInfoResponse.decode((await self._asking.ask(address, code)).ext)

    async def update(
        self, address: str, account: UpdateAclConfigRequest, old_secret_seconds: int | None = None
    ) -> None:
        """Create an account, or change the given fields of an existing one. A Gantry broker accepts
        a replaced secret key for `old_secret_seconds` more (-1: until a request with 0); Java
        brokers ignore that field."""
        code = RequestCode.UPDATE_AND_CREATE_ACL_CONFIG
        seconds = old_secret_seconds
        own = None if seconds is None else {"oldSecretSeconds": str(seconds)}
        await self._asking.ask(address, code, account, own_fields=own)

    async def delete(self, address: str, access_key: str) -> None:
        header = DeleteAclConfigRequest(access_key=access_key)
        await self._asking.ask(address, RequestCode.DELETE_ACL_CONFIG, header)

    async def set_white_addresses(self, address: str, patterns: str, path: str = "") -> None:
        """Set the addresses that need no key: patterns separated by commas."""
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
