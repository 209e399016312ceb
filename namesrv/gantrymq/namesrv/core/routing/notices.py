"""Sends NOTIFY_MIN_BROKER_ID_CHANGE, which tells a group's brokers their lowest broker id.

The notices go to the brokers' own ports, where Java brokers listen for them, and only if
`notifyMinBrokerIdChanged` is on.
"""

from __future__ import annotations

from gantrymq.namesrv.core.messages import Effects, Notify
from gantrymq.namesrv.core.routing.brokers import Group
from gantrymq.namesrv.core.routing.routes import MasterLost
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.headers.route import NotifyMinBrokerIdChangeRequest


def lowest_id_left(effects: Effects, lost: MasterLost) -> None:
    """Notify all remaining members."""
    _tell(effects, lost.group, sorted(lost.group.members), offline_address=lost.offline_address)


def lowest_id_appeared(effects: Effects, group: Group) -> None:
    """Notify the members that were registered before."""
    others = sorted(group.members)[1:]
    _tell(effects, group, others or sorted(group.members), ha_address=_ha_address(group))


def _ha_address(group: Group) -> str:
    return group.members[group.lowest_id()].ha_address


def _tell(
    effects: Effects,
    group: Group,
    broker_ids: list[int],
    *,
    offline_address: str | None = None,
    ha_address: str | None = None,
) -> None:
    lowest = group.lowest_id()
    addresses = [group.members[broker_id].address for broker_id in broker_ids]
    header = NotifyMinBrokerIdChangeRequest(
        min_broker_id=lowest,
        broker_name=group.name,
        min_broker_addr=group.members[lowest].address,
        offline_broker_addr=offline_address,
        ha_broker_addr=ha_address,
    )
    effects.info(
        f"min broker id changed to {lowest}, notify {addresses},"
        f" offline broker addr {offline_address}"
    )
    for address in addresses:
        command = Command(
            RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, flag=FLAG_ONEWAY, ext=header.encode()
        )
        effects.add(Notify(address, command))
