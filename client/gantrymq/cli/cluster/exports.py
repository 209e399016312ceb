"""Defines `gantry exportMetadata` and related commands, which write JSON files about a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.cluster.cluster_metrics import cluster_metrics
from gantrymq.cli.cluster.json_file import save
from gantrymq.cli.frame.command import Command, selected_brokers
from gantrymq.cli.frame.option import Option, Options, flag, required
from gantrymq.cli.frame.page import Page, members
from gantrymq.cli.topic.user_configs import user_groups, user_topics
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

_FOLDER: Final = Option("f", "filePath", "into this folder (/tmp/rocketmq/export)")
_DEFAULT_FOLDER: Final = "/tmp/rocketmq/export"  # noqa: S108 - mqadmin's default
_SETTINGS: Final = (
    *("brokerClusterName", "brokerId", "brokerName", "brokerRole", "fileReservedTime"),
    *("filterServerNums", "flushDiskType", "maxMessageSize", "messageDelayLevel"),
    *("msgTraceTopicName", "slaveReadEnable", "traceOn", "traceTopicEnable", "useTLS"),
    *("autoCreateTopicEnable", "autoCreateSubscriptionGroup"),
)


async def metadata(admin: Administration, options: Options) -> Page:
    addresses = await selected_brokers(admin, options)
    only_topics, only_groups = options.is_set("topic"), options.is_set("subscriptionGroup")
    exported: JsonObject = {}
    if not only_groups:
        with_special = options.is_set("specialTopic")
        topics = await user_topics(admin, addresses, with_special=with_special)
        exported["topicConfigTable"] = topics
    if not only_topics:
        exported["subscriptionGroupTable"] = await user_groups(admin, addresses)
    exported["exportTime"] = admin.ports.clock.wall_ms()
    name = "topic" if only_topics else "subscriptionGroup" if only_groups else "metadata"
    return await _saved(options, f"{name}.json", exported)


async def configs(admin: Administration, options: Options) -> Page:
    brokers = await admin.clusters.brokers(options.text("clusterName"))
    addresses = [each.addresses[MASTER_ID] for each in brokers if MASTER_ID in each.addresses]
    answers = await on_each(addresses, admin.brokers.settings, admin.pace)
    settings = answers.all()
    slaves = sum(len(each.addresses) - (MASTER_ID in each.addresses) for each in brokers)
    kept: JsonObject = {}
    for each in settings.values():
        kept[each.get("brokerName", "")] = {name: each[name] for name in _SETTINGS if name in each}
    scale = {
        "namesrvSize": len(admin.name_servers.addresses),
        "masterBrokerSize": len(addresses),
        "slaveBrokerSize": slaves,
    }
    return await _saved(
        options, "configs.json", {"brokerConfigs": kept, "clusterScale": members(scale)}
    )


async def metrics(admin: Administration, options: Options) -> Page:
    report = await cluster_metrics(admin, options.text("clusterName"))
    return await _saved(options, "metrics.json", report)


async def _saved(options: Options, name: str, exported: JsonObject) -> Page:
    path = await save(options, _DEFAULT_FOLDER, name, exported)
    shown = Page()
    shown.say("file", f"export {path} success", path)
    return shown


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "exportMetadata",
            (
                Option("c", "clusterName", "of this cluster"),
                Option("b", "brokerAddr", "of this broker"),
                _FOLDER,
                flag("t", "topic", "only topics"),
                flag("g", "subscriptionGroup", "only groups"),
                flag("s", "specialTopic", "include retry and dead letter topics"),
            ),
            metadata,
        ),
        Command(
            "exportConfigs",
            (required("c", "clusterName", "of this cluster"), _FOLDER),
            configs,
        ),
        Command(
            "exportMetrics",
            (required("c", "clusterName", "of this cluster"), _FOLDER),
            metrics,
        ),
    )
}
