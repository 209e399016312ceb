"""Defines the settings of one member of an elected group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from gantrymq.ha.lease.member_id import MemberId
from gantrymq.ha.member.links.link_settings import LinkSettings


@final
@dataclass(frozen=True, slots=True)
class MemberSettings:
    """The settings of one member."""

    link: LinkSettings
    ha_addresses: Mapping[int, str]
    """The HA addresses of all configured members, by number."""
    address: str
    """Where this broker accepts requests."""

    def member_id(self, process: str) -> MemberId:
        """The identity of one process of this member."""
        number, addresses = self.link.me.number, self.ha_addresses
        return MemberId(number, frozenset(addresses), self.address, addresses[number], process)
