"""Defines `gantry updateSubGroup` and related commands: settings of consumer groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command, load_list, selected_brokers
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page, Table, Text, page
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.groups import DEAD_LETTER_PREFIX, RETRY_PREFIX
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.jsonvalue import Json, JsonObject, object_of

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

_WHERE: Final = (
    Option("b", "brokerAddr", "at this broker"),
    Option("c", "clusterName", "at every master of this cluster"),
)
_GROUP: Final = required("g", "groupName", "consumer group name")


async def group_settings(admin: Administration, options: Options) -> Page:
    group = options.text("groupName")
    info = await admin.clusters.info()
    places = {
        broker.addresses[MASTER_ID]: (broker.cluster, name)
        for name, broker in sorted(info.brokers.items())
        if MASTER_ID in broker.addresses
    }
    answers = await on_each(places, admin.groups.configs, admin.pace)
    shown = Page(failures=list(answers.failed.values()))
    for address, configs in answers.done.items():
        config = configs.get(group)
        if config is None:
            continue
        cluster, name = places[address]
        values = _java_values(config)
        heading = f"============================={cluster}:{name}============================="
        values["subscriptionDataSet"] = ""
        lines = [f"{key:<40}=  {value}" for key, value in values.items()]
        shown.parts.append(Text(name, [heading, *lines], config.to_json()))
    return shown


def _java_text(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}={each}' for name, each in value.items())}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)


async def update_group(admin: Administration, options: Options) -> Page:
    config = _config(options)
    made = await admin.groups.create(await selected_brokers(admin, options), config)
    shown = Page(failures=list(made.failed.values()))
    for address in made.done:
        shown.say("done", f"create subscription group to {address} success.", address)
    if made.done:
        shown.say("group", java_text(config), config.to_json())
    return shown


def _config(options: Options) -> GroupConfig:
    """Make the settings of a group. Switches that are not given have mqadmin's defaults."""
    policy = options.maybe("groupRetryPolicy")
    values: JsonObject = {
        "groupName": options.text("groupName"),
        "consumeEnable": options.decision("consumeEnable", default=True),
        "consumeFromMinEnable": options.decision("consumeFromMinEnable"),
        "consumeBroadcastEnable": options.decision("consumeBroadcastEnable"),
        "consumeMessageOrderly": options.decision("consumeMessageOrderly"),
        "retryQueueNums": options.number("retryQueueNums", 1),
        "retryMaxTimes": options.number("retryMaxTimes", 16),
        "brokerId": options.number("brokerId", 0),
        "whichBrokerWhenConsumeSlowly": options.number("whichBrokerWhenConsumeSlowly", 1),
        "notifyConsumerIdsChangedEnable": options.decision(
            "notifyConsumerIdsChanged", default=True
        ),
    }
    if policy is not None:
        values["groupRetryPolicy"] = object_of(javajson.loads(policy), "--groupRetryPolicy")
    return GroupConfig.from_json(values)


async def update_groups(admin: Administration, options: Options) -> Page:
    configs = [GroupConfig.from_json(each) for each in await load_list(options.text("filename"))]
    addresses = await selected_brokers(admin, options)
    made = await on_each(addresses, lambda address: admin.groups.create_all(address, configs))
    shown = Page(failures=list(made.failed.values()))
    for address in made.done:
        text = f"submit batch of group config to {address} success, please check the result later."
        shown.say("done", text, address)
    return shown


async def delete_group(admin: Administration, options: Options) -> Page:
    group, cluster = options.text("groupName"), options.maybe("clusterName")
    addresses = await selected_brokers(admin, options)
    with_offsets = options.decision("removeOffset")
    deleted = await admin.groups.delete(addresses, group, with_offsets=with_offsets)
    shown = Page(failures=list(deleted.failed.values()))
    of_cluster = "" if options.maybe("brokerAddr") else f" in cluster [{cluster}]"
    for address in deleted.done:
        text = f"delete subscription group [{group}] from broker [{address}]{of_cluster} success."
        shown.say("done", text, address)
    if of_cluster and not deleted.failed:
        await _delete_own_topics(admin, addresses, group)
    return shown


async def _delete_own_topics(admin: Administration, addresses: list[str], group: str) -> None:
    """Delete the retry topic and the dead letter topic of a deleted group."""
    for prefix in (RETRY_PREFIX, DEAD_LETTER_PREFIX):
        (await admin.topics.delete(prefix + group, addresses)).all()
        try:
            (await admin.topics.forget(prefix + group)).all()
        except BrokerError as error:
            if error.code != ResponseCode.TOPIC_NOT_EXIST:
                raise


async def set_mode(admin: Administration, options: Options) -> Page:
    topic, group, mode = (options.text(name) for name in ("topicName", "groupName", "mode"))
    if mode not in {"PULL", "POP"}:
        raise UsageError(f"--mode is PULL or POP, not {mode}")
    queues = options.number("popShareQueueNum", 0)
    addresses = await selected_brokers(admin, options)
    answers = await on_each(
        addresses, lambda address: admin.groups.set_mode(address, group, topic, mode, queues)
    )
    shown = Page(failures=list(answers.failed.values()))
    for address in answers.done:
        shown.say("done", f"set consume mode to {address} success.", address)
    if answers.done:
        text = f"topic[{topic}] group[{group}] consume mode[{mode}] popShareQueueNum[{queues}]"
        shown.say("mode", text, mode)
    return shown


async def broker_progress(admin: Administration, options: Options) -> Page:
    least = options.number("level", 0)
    listed = await admin.groups.all_progress_at(
        options.text("brokerAddr"),
        is_order=options.decision("order"),
        timeout_s=options.number("timeoutMillis", 50_000) / 1000,
    )
    rows = [
        (
            queue.topic,
            group,
            queue.broker_name,
            queue.queue_id,
            offset.broker_offset,
            offset.consumer_offset,
            offset.broker_offset - offset.consumer_offset,
            timestamps.second(offset.last_ms),
        )
        for group, parts in listed.groups
        for stats in parts
        for queue, offset in sorted(stats.queues.items())
        if offset.broker_offset - offset.consumer_offset >= least and offset.last_ms > 0
    ]
    titles = (
        *("#Topic", "#Group", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset"),
        *("#Diff", "#LastTime"),
    )
    form = "%-64s  %-64s  %-32s  %-4d  %-20d  %-20d  %-20d  %s"
    total = ["", f"Diff Total: {listed.total_diff}"]
    return page(Table("progress", titles, form, rows), Text("diffTotal", total, listed.total_diff))


def java_text(config: GroupConfig) -> str:
    """Return the settings as Java prints SubscriptionGroupConfig."""
    listed = ", ".join(f"{name}={value}" for name, value in _java_values(config).items())
    return f"SubscriptionGroupConfig{{{listed}}}"


def _java_values(config: GroupConfig) -> dict[str, str]:
    """Return the values in the order of Java's class."""
    values = config.to_json()
    names = (
        *("groupName", "consumeEnable", "consumeFromMinEnable", "consumeBroadcastEnable"),
        *("consumeMessageOrderly", "retryQueueNums", "retryMaxTimes", "groupRetryPolicy"),
        *("brokerId", "whichBrokerWhenConsumeSlowly", "notifyConsumerIdsChangedEnable"),
        *("groupSysFlag", "consumeTimeoutMinute", "subscriptionDataSet", "attributes"),
    )
    texts = {name: _java_text(values.get(name)) for name in names}
    policy = config.retry_policy
    texts["groupRetryPolicy"] = (
        f"GroupRetryPolicy{{type={policy.get('type')}, exponentialRetryPolicy="
        f"{_policy_text('ExponentialRetryPolicy', policy.get('exponentialRetryPolicy'))},"
        " customizedRetryPolicy="
        f"{_policy_text('CustomizedRetryPolicy', policy.get('customizedRetryPolicy'))}}}"
    )
    return texts


def _policy_text(kind: str, value: Json) -> str:
    return "null" if value is None else kind + _java_text(value)


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "brokerConsumeStats",
            (
                required("b", "brokerAddr", "the broker"),
                Option("t", "timeoutMillis", "milliseconds to wait for the answer (50000)"),
                Option("l", "level", "only queues with at least this lag (0)"),
                Option("o", "order", "true: only ordered topics"),
            ),
            broker_progress,
        ),
        Command("getConsumerConfig", (_GROUP,), group_settings),
        Command(
            "updateSubGroup",
            (
                *_WHERE,
                _GROUP,
                Option("s", "consumeEnable", "whether the group may consume (true)"),
                Option("m", "consumeFromMinEnable", "whether it begins at the oldest (false)"),
                Option("d", "consumeBroadcastEnable", "whether it may broadcast (false)"),
                Option("o", "consumeMessageOrderly", "whether it consumes in order (false)"),
                Option("q", "retryQueueNums", "queues of its retry topic (1)"),
                Option("r", "retryMaxTimes", "how often a message is tried again (16)"),
                Option("p", "groupRetryPolicy", "when a message is tried again, as JSON"),
                Option("i", "brokerId", "the id of the broker that it reads (0)"),
                Option("w", "whichBrokerWhenConsumeSlowly", "the same while it is slow (1)"),
                Option("a", "notifyConsumerIdsChanged", "tell its consumers of changes (true)"),
            ),
            update_group,
        ),
        Command(
            "updateSubGroupList",
            (*_WHERE, required("f", "filename", "JSON: a list of SubscriptionGroupConfig objects")),
            update_groups,
        ),
        Command(
            "deleteSubGroup",
            (*_WHERE, _GROUP, Option("r", "removeOffset", "true: delete its offsets too")),
            delete_group,
        ),
        Command(
            "setConsumeMode",
            (
                *_WHERE,
                required("t", "topicName", "topic name"),
                _GROUP,
                required("m", "mode", "PULL or POP"),
                Option("q", "popShareQueueNum", "queues that consumers share (0)"),
            ),
            set_mode,
        ),
    )
}
