"""Defines `gantry clusterList` and related commands: the brokers of clusters, and replication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command, selected_brokers
from gantrymq.cli.frame.option import Option, Options, flag, required
from gantrymq.cli.frame.page import Cell, Page, Part, Table, Text
from gantrymq.client.core.admin.asking import on_each

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.wire.bodies.ha_status import HaStatus

_HOUR_MS: Final = 3_600_000


async def cluster_list(admin: Administration, options: Options) -> Page:
    info = await admin.clusters.info()
    wanted = options.maybe("clusterName")
    members = [
        (cluster, name, number, address)
        for cluster, names in sorted(info.clusters.items())
        if wanted in {None, "", cluster}
        for name in sorted(names)
        if name in info.brokers
        for number, address in sorted(info.brokers[name].addresses.items())
    ]
    answers = await on_each([member[3] for member in members], admin.brokers.figures, admin.pace)
    now_ms = admin.ports.clock.wall_ms()
    rows: list[tuple[Cell, ...]] = []
    for cluster, name, number, address in members:
        figures = answers.done.get(address, {})
        if options.is_set("moreStats"):
            rows.append((cluster, name, *_totals(figures)))
        else:
            rows.append((cluster, name, str(number), address, *_load(figures, now_ms)))
    table = _totals_table(rows) if options.is_set("moreStats") else _load_table(rows)
    return Page([table], list(answers.failed.values()))


def _totals_table(rows: list[tuple[Cell, ...]]) -> Table:
    titles = (
        *("#Cluster Name", "#Broker Name"),
        *("#InTotalYest", "#OutTotalYest", "#InTotalToday", "#OutTotalToday"),
    )
    return Table("brokers", titles, "%-16s  %-32s %14d %14d %14d %14d", rows)


def _load_table(rows: list[tuple[Cell, ...]]) -> Table:
    titles = (
        *("#Cluster Name", "#Broker Name", "#BID", "#Addr", "#Version", "#InTPS(LOAD)"),
        *("#OutTPS(LOAD)", "#Timer(Progress)", "#PCWait(ms)", "#Hour", "#SPACE", "#ACTIVATED"),
    )
    left = "%-22s  %-22s  %-4s  %-22s %-16s  %16s  %30s  %-22s  "
    form = left + "%11s  %-12s  %-8s  %10s"
    return Table("brokers", titles, form, rows, left + "%-11s  %-12s  %-8s  %-10s")


def _totals(figures: dict[str, str]) -> tuple[int, int, int, int]:
    """Count messages in and out, yesterday and today."""

    def total(kind: str, end: str, start: str) -> int:
        return int(figures.get(f"msg{kind}Total{end}", 0)) - int(
            figures.get(f"msg{kind}Total{start}", 0)
        )

    yesterday, today = ("TodayMorning", "YesterdayMorning"), ("TodayNow", "TodayMorning")
    return (
        total("Put", *yesterday),
        total("Get", *yesterday),
        total("Put", *today),
        total("Get", *today),
    )


def _load(figures: dict[str, str], now_ms: int) -> tuple[str, ...]:
    """Return the columns after a broker's address: version, load, timer, age of log, disk."""

    def number(name: str) -> float:
        return float((figures.get(name, "").split() or ["0"])[0])

    def queue(kind: str) -> str:
        size = figures.get(f"{kind}ThreadPoolQueueSize", "N")
        return f"{size},{figures.get(f'{kind}ThreadPoolQueueHeadWaitTimeMills', 'N')}ms"

    get_tps = "getTransferredTps" if "getTransferredTps" in figures else "getTransferedTps"
    timer = (
        f"{number('timerReadBehind'):.0f}-{number('timerOffsetBehind'):.0f}"
        f"({number('timerCongestNum') / 10_000:.1f}w, {number('timerEnqueueTps'):.1f},"
        f" {number('timerDequeueTps'):.1f})"
    )
    earliest_ms = number("earliestMessageTimeStamp")
    hours = (now_ms - earliest_ms) / _HOUR_MS if earliest_ms > 0 else 0.0
    return (
        figures.get("brokerVersionDesc", ""),
        f"{number('putTps'):9.2f}({queue('send')})",
        f"{number(get_tps):9.2f}({queue('pull')}|{queue('ack')})",
        timer,
        figures.get("pageCacheLockTimeMills", ""),
        f"{hours:2.2f}",
        f"{number('commitLogDiskRatio'):.4f}",
        figures.get("brokerActive", ""),
    )


async def ha_status(admin: Administration, options: Options) -> Page:
    addresses = await selected_brokers(admin, options)
    answers = await on_each(addresses, admin.brokers.replication, admin.pace)
    parts: list[Part] = []
    for address, status in answers.done.items():
        parts += _of_master(address, status) if status.is_master else [_of_slave(address, status)]
    return Page(parts, list(answers.failed.values()))


def _of_master(address: str, status: HaStatus) -> list[Part]:
    lines = [
        "",
        f"#MasterAddr\t{address}",
        f"#MasterCommitLogMaxOffset\t{status.log_end}",
        f"#SlaveNum\t{len(status.slaves)}",
        f"#InSyncSlaveNum\t{status.in_sync_slaves}",
    ]
    rows = [
        (
            slave.address,
            slave.acknowledged,
            slave.behind_bytes,
            slave.bytes_per_second / 1024,
            "OK" if slave.is_in_sync else "Fall Behind",
            slave.sends_from,
        )
        for slave in status.slaves
    ]
    titles = (
        *("#SlaveAddr", "#SlaveAckOffset", "#Diff", "#TransferSpeed(KB/s)", "#Status"),
        "#TransferFromWhere",
    )
    form = "%-32s  %-16d %16d %16.2f %16s %16d"
    return [
        Text(f"master {address}", lines, status.to_json()),
        Table(f"slaves of {address}", titles, form, rows),
    ]


def _of_slave(address: str, status: HaStatus) -> Text:
    follower = status.follower
    lines = [
        "",
        f"#MasterAddr\t{follower.master or 'null'}",
        f"#CommitLogMaxOffset\t{follower.log_end}",
        f"#TransferSpeed(KB/s)\t{follower.bytes_per_second / 1024:.2f}",
        f"#LastReadTime\t{timestamps.second(follower.last_read_ms)}",
        f"#LastWriteTime\t{timestamps.second(follower.last_write_ms)}",
        f"#MasterFlushOffset\t{follower.master_flushed}",
    ]
    return Text(f"slave {address}", lines, status.to_json())


async def reset_master_flush_offset(admin: Administration, options: Options) -> Page:
    offset = options.number("offset")
    await admin.brokers.reset_master_flush_offset(options.text("brokerAddr"), offset)
    shown = Page()
    shown.say("done", f"reset master flush offset to {offset} success", offset)
    return shown


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "clusterList",
            (
                flag("m", "moreStats", "show messages of yesterday and today instead"),
                Option("i", "interval", "ignored: use --watch"),
                Option("c", "clusterName", "only this cluster"),
            ),
            cluster_list,
        ),
        Command(
            "haStatus",
            (
                Option("b", "brokerAddr", "of this broker"),
                Option("c", "clusterName", "of every master of this cluster"),
                Option("i", "interval", "ignored: use --watch"),
            ),
            ha_status,
        ),
        Command(
            "resetMasterFlushOffset",
            (
                required("b", "brokerAddr", "the slave"),
                required("o", "offset", "up to where its master has flushed its log"),
            ),
            reset_master_flush_offset,
        ),
    )
}
