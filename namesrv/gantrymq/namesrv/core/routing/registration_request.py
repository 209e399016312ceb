"""Defines a broker's registration request and its outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gantrymq.namesrv.core.messages import Channel


@dataclass(frozen=True, slots=True)
class Registration:
    """A REGISTER_BROKER request with its header decoded and its body not yet."""

    cluster: str
    address: str
    broker_name: str
    broker_id: int
    ha_address: str
    timeout_seconds: float
    enable_acting_master: bool | None
    zone_name: str | None
    listeners: Mapping[str, str]
    epoch: int
    body: bytes
    compressed: bool
    version: int
    channel: Channel


@dataclass(frozen=True, slots=True)
class Registered:
    """Accepted, or ignored by rule 2. The addresses are for slaves; None if there is no master."""

    master_address: str | None = None
    master_ha_address: str | None = None
    unchanged: bool = False
    lowest_id_changed: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """The registration is refused, for this cause."""

    cause: str
