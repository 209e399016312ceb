"""Collects what `gantry exportMetrics` writes: configuration and load of a cluster's brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame.page import members
from gantrymq.cli.topic.user_configs import user_groups, user_topics
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.brokers import day_total
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire.bodies.consuming.stats import BrokerStatsData
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.jsonvalue import Json, JsonObject
from gantrymq.wire.version import version_name

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

_HALVES: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
_DELAYED: Final = "SCHEDULE_TOPIC_XXXX"
_DISK_RATIOS: Final = ("commitLogDiskRatio", "consumeQueueDiskRatio")
_TPS: Final = {
    "normalInTps": "totalNormalInTps",
    "normalOutTps": "totalNormalOutTps",
    "transInTps": "totalTransInTps",
    "scheduleInTps": "totalScheduleInTps",
}
_DAY: Final = (
    *("normalOneDayInNum", "normalOneDayOutNum", "transOneDayInNum", "scheduleOneDayInNum"),
)


@dataclass(frozen=True, slots=True)
class _Rates:
    """Message rates of one broker, by mqadmin's names: messages per second, and per day."""

    tps: dict[str, float]
    day: dict[str, int]


async def cluster_metrics(admin: Administration, cluster: str) -> JsonObject:
    """Return the metrics of each master, and the totals of all masters."""
    brokers = await admin.clusters.brokers(cluster)
    reports: JsonObject = {}
    each_tps, each_day = dict.fromkeys(_TPS, 0.0), dict.fromkeys(_DAY, 0)
    admin.pace.begin(len(brokers))
    for broker in brokers:
        address = broker.addresses.get(MASTER_ID)
        if address is not None:
            figures = await admin.brokers.figures(address)
            rates = await _rates(admin, address, figures)
            reports[broker.broker_name] = await _report(admin, address, figures, rates)
            each_tps = {name: tps + rates.tps[name] for name, tps in each_tps.items()}
            each_day = {name: count + rates.day[name] for name, count in each_day.items()}
        admin.pace.advance()
    admin.pace.end()
    total_tps = members({total: each_tps[name] for name, total in _TPS.items()})
    totals: JsonObject = {"totalTps": total_tps, "totalOneDayNum": members(each_day)}
    return {"evaluateReport": reports, "totalData": totals}


async def _rates(admin: Administration, address: str, figures: Mapping[str, str]) -> _Rates:
    halves = await _stats(admin, address, _HALVES)
    delayed = await _stats(admin, address, _DELAYED)
    outgoing = "getTransferredTps" if "getTransferredTps" in figures else "getTransferedTps"
    return _Rates(
        {
            "normalInTps": _first(figures, "putTps"),
            "normalOutTps": _first(figures, outgoing),
            "transInTps": halves.minute.tps,
            "scheduleInTps": delayed.minute.tps,
        },
        {
            "normalOneDayInNum": _yesterday(figures, "Put"),
            "normalOneDayOutNum": _yesterday(figures, "Get"),
            "transOneDayInNum": day_total(halves),
            "scheduleOneDayInNum": day_total(delayed),
        },
    )


async def _stats(admin: Administration, address: str, topic: str) -> BrokerStatsData:
    """Return a topic's statistics; zeros if the broker has counted nothing for it."""
    try:
        return await admin.brokers.stats(address, "TOPIC_PUT_NUMS", topic)
    except BrokerError as error:
        if error.code != ResponseCode.SYSTEM_ERROR:
            raise
        return BrokerStatsData()


def _first(figures: Mapping[str, str], name: str) -> float:
    """Return the first of the three averages: ten seconds, one minute, ten minutes."""
    return float((figures.get(name, "").split() or ["0"])[0])


def _yesterday(figures: Mapping[str, str], kind: str) -> int:
    morning = int(figures.get(f"msg{kind}TotalTodayMorning", 0))
    return morning - int(figures.get(f"msg{kind}TotalYesterdayMorning", 0))


async def _report(
    admin: Administration, address: str, figures: Mapping[str, str], rates: _Rates
) -> JsonObject:
    settings = await admin.brokers.settings(address)
    groups = await user_groups(admin, [address])
    topics = await user_topics(admin, [address])
    environment = {
        "cpuNum": settings.get("clientCallbackExecutorThreads"),
        "totalMemKBytes": figures.get("totalMemKBytes"),
    }
    quota: JsonObject = {
        "diskRatio": _known({name: figures.get(name) for name in _DISK_RATIOS}),
        "tps": members(rates.tps),
        "oneDayNum": members(rates.day),
        "messageAverageSize": figures.get("putMessageAverageSize"),
        "topicSize": len(topics),
        "groupSize": len(groups),
    }
    clients: list[Json] = [*await _clients(admin, map(str, groups))]
    version: JsonObject = {
        "rocketmqVersion": figures.get("brokerVersionDesc"),
        "clientInfo": clients,
    }
    return {
        "runtimeEnv": _known(environment),
        "runtimeQuota": quota,
        "runtimeVersion": version,
    }


def _known(values: Mapping[str, Json]) -> JsonObject:
    """Leave out the values that the broker does not report."""
    return members({name: value for name, value in values.items() if value is not None})


async def _clients(admin: Administration, groups: Iterable[str]) -> list[str]:
    """Return languages and versions of all connected consumers, such as `JAVA%V5_3_3`."""
    found = await on_each(groups, admin.connections.consumers)
    return sorted(
        {
            f"{each.language}%{version_name(each.version)}"
            for consumers in found.done.values()
            for each in consumers.connections
        }
    )
