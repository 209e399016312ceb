"""Handles VIEW_BROKER_STATS_DATA: counts of a topic or group in the last minute, hour and day."""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.figures.stats_series import Series
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.wire.bodies.consuming.stats import BrokerStatsData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.admin import ViewBrokerStatsRequest

_BY_TOPIC: Final = ("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE")
_BY_GROUP: Final = ("GROUP_GET_NUMS", "GROUP_GET_SIZE")
_RETURNS: Final = ("SNDBCK_PUT_NUMS",)
_BROKER: Final = ("BROKER_PUT_NUMS", "BROKER_GET_NUMS")
NAMES: Final = (*_BY_TOPIC, *_BY_GROUP, *_RETURNS, *_BROKER)


def view_stats(state: State, request: Request) -> Outcome:
    header = ViewBrokerStatsRequest.decode(request.command.ext)
    name, key = header.stats_name, header.stats_key
    series = _series(state, name, key)
    if series is None:
        why = "nothing was counted" if name in NAMES else f"there are {', '.join(NAMES)}"
        return refused(ResponseCode.SYSTEM_ERROR, f"The stats <{name}> <{key}> not exist: {why}")
    age = state.stats.age
    items = series.sizes(age) if name.endswith("_SIZE") else series.counts(age)
    return done_json(BrokerStatsData(*items).to_json())


def _series(state: State, name: str, key: str) -> Series | None:
    """Find the series: the key of a group is topic@group, and the cluster's name means the
    broker."""
    stats = state.stats
    topic, _, group = key.partition("@")
    if name in _BY_TOPIC:
        return stats.topic(key)
    if name in _BY_GROUP:
        return stats.group(group, topic)
    if name in _RETURNS:
        return stats.returns(group, topic)
    if name in _BROKER and key == state.identity.cluster:
        return stats.broker_put if name == "BROKER_PUT_NUMS" else stats.broker_got
    return None


HANDLERS: Final[Handlers] = {RequestCode.VIEW_BROKER_STATS_DATA: view_stats}
