"""Defines the response to VIEW_BROKER_STATS_DATA: a topic's or group's recent statistics.

    {"statsDay":{"avgpt":2.0,"sum":3,"tps":1.5},"statsHour":{..},"statsMinute":{..}}

Java writes repeated objects as `$ref`s: read it with `references=True`.
"""

from __future__ import annotations

from dataclasses import field

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.jsonvalue import Json, JsonObject, float_field, long_field, object_of


@dataclass(frozen=True, slots=True)
class StatsItem:
    """A sum, its rate per second, and its average per request."""

    total: int = 0
    tps: float = 0.0
    per_call: float = 0.0

    @classmethod
    def from_json(cls, value: Json) -> StatsItem:
        bean = object_of(value, "BrokerStatsItem")
        return cls(long_field(bean, "sum"), float_field(bean, "tps"), float_field(bean, "avgpt"))

    def to_json(self) -> JsonObject:
        return {"avgpt": self.per_call, "sum": self.total, "tps": self.tps}


@dataclass(frozen=True, slots=True)
class BrokerStatsData:
    """The statistics of the last minute, hour and day."""

    minute: StatsItem = field(default_factory=StatsItem)
    hour: StatsItem = field(default_factory=StatsItem)
    day: StatsItem = field(default_factory=StatsItem)

    @classmethod
    def from_json(cls, value: Json) -> BrokerStatsData:
        bean = object_of(value, "BrokerStatsData")
        minute, hour, day = (
            StatsItem.from_json(bean.get(name) or {})
            for name in ("statsMinute", "statsHour", "statsDay")
        )
        return cls(minute, hour, day)

    def to_json(self) -> JsonObject:
        return {
            "statsDay": self.day.to_json(),
            "statsHour": self.hour.to_json(),
            "statsMinute": self.minute.to_json(),
        }
