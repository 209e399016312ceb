"""Defines `gantry brokerStatus` and related commands: figures, settings and cleanup of brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from gantrymq.cli.frame.command import Command, selected_brokers
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option, Options, flag, required
from gantrymq.cli.frame.page import Page, Part, Text, pairs
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.admin.brokers import Brokers
    from gantrymq.client.core.flow.flow_steps import Flow

    Upkeep: TypeAlias = "Callable[[Brokers, str], Flow[None]]"

_BROKER: Final = Option("b", "brokerAddr", "this broker")
_CLUSTER: Final = Option("c", "clusterName", "every broker of this cluster")


async def broker_status(admin: Administration, options: Options) -> Page:
    broker = options.maybe("brokerAddr")
    if broker is not None:
        figures = await admin.brokers.figures(broker)
        return Page([pairs("figures", figures, "%-32s: %s")])
    addresses = await selected_brokers(admin, options, with_slaves=True)
    answers = await on_each(addresses, admin.brokers.figures, admin.pace)
    parts: list[Part] = []
    for address, figures in answers.done.items():
        value: JsonObject = {}
        value.update(figures)
        lines = [f"{address:<24} {key:<32}: {each}" for key, each in sorted(figures.items())]
        parts.append(Text(address, lines, value))
    return Page(parts, list(answers.failed.values()))


async def broker_settings(admin: Administration, options: Options) -> Page:
    broker = options.maybe("brokerAddr")
    if broker is not None:
        headings = {broker: f"============{broker}============"}
    else:
        headings = await _headings(admin, options)
    answers = await on_each(headings, admin.brokers.settings, admin.pace)
    parts: list[Part] = []
    for address, settings in answers.done.items():
        listed = pairs(address, settings)
        parts.append(Text(address, [headings[address], *listed.shown, ""], listed.value))
    return Page(parts, list(answers.failed.values()))


async def _headings(admin: Administration, options: Options) -> dict[str, str]:
    """Return the heading of every broker of a cluster, each master before its slaves."""
    cluster = options.maybe("clusterName")
    if cluster is None:
        raise UsageError(
            "the target is missing: give -b host:port for one broker, or -c <clusterName> for all"
        )
    headings: dict[str, str] = {}
    for broker in await admin.clusters.brokers(cluster):
        master = broker.addresses.get(MASTER_ID, "NO_MASTER")
        for number, address in sorted(broker.addresses.items()):
            headings[address] = (
                f"============Master: {address}============"
                if number == MASTER_ID
                else f"============My Master: {master}=====Slave: {address}============"
            )
    return headings


async def update_settings(admin: Administration, options: Options) -> Page:
    change = {options.text("key"): options.text("value")}
    with_slaves = options.is_set("updateAllBroker")
    addresses = await selected_brokers(admin, options, with_slaves=with_slaves)
    answers = await on_each(
        addresses, lambda address: admin.brokers.change(address, change), admin.pace
    )
    shown = Page(failures=list(answers.failed.values()))
    for address in answers.done:
        shown.say(address, f"update broker config success, {address}")
    return shown


def _upkeep(work: Upkeep) -> Callable[[Administration, Options], Flow[Page]]:
    """Make a command that runs a cleanup at brokers, and shows `success` or their failures."""

    async def run(admin: Administration, options: Options) -> Page:
        if options.maybe("brokerAddr") is None and options.maybe("cluster") is None:
            info = await admin.clusters.info()
            addresses = [each for one in info.brokers.values() for each in one.addresses.values()]
        else:
            addresses = await selected_brokers(
                admin, options, cluster_option="cluster", with_slaves=True
            )
        answers = await on_each(addresses, lambda each: work(admin.brokers, each), admin.pace)
        shown = Page(failures=list(answers.failed.values()))
        is_done = not answers.failed
        shown.say("success", "success" if is_done else "false", is_done)
        return shown

    return run


_UPKEEP: Final = (_BROKER, Option("c", "cluster", "every broker of this cluster (all clusters)"))

COMMANDS: Final = {
    command.name: command
    for command in (
        Command("brokerStatus", (_BROKER, _CLUSTER), broker_status),
        Command("getBrokerConfig", (_BROKER, _CLUSTER), broker_settings),
        Command(
            "updateBrokerConfig",
            (
                _BROKER,
                _CLUSTER,
                flag("a", "updateAllBroker", "slaves too"),
                required("k", "key", "the setting"),
                required("v", "value", "its new value"),
            ),
            update_settings,
        ),
        Command("cleanExpiredCQ", _UPKEEP, _upkeep(lambda each, at: each.clean_expired_queues(at))),
        Command(
            "cleanUnusedTopic", _UPKEEP, _upkeep(lambda each, at: each.clean_unused_topics(at))
        ),
        Command(
            "deleteExpiredCommitLog", _UPKEEP, _upkeep(lambda each, at: each.delete_expired_log(at))
        ),
    )
}
