"""Defines `gantry updateTopic` and related commands, which create, change and delete topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame.command import Command, load_list, selected_brokers
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page, page
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.name_servers import ORDER_NAMESPACE
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire.bodies.shared import Permission, TopicConfig

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

# The bits of topicSysFlag.
_UNIT: Final = 1
_UNIT_SUBSCRIPTION: Final = 2

_WHERE: Final = (
    Option("b", "brokerAddr", "at this broker"),
    Option("c", "clusterName", "at every master of this cluster"),
)
_TOPIC: Final = required("t", "topic", "topic name")


async def update_topic(admin: Administration, options: Options) -> Page:
    config = _config(options)
    addresses = await selected_brokers(admin, options)
    made = await admin.topics.create(addresses, config)
    shown = Page(failures=list(made.failed.values()))
    for address in made.done:
        shown.say("done", f"create topic to {address} success.", address)
    if config.order and made.done:
        await _fix_order(admin, options, config, shown)
    if made.done:
        shown.say("topic", java_text(config), config.to_json())
    return shown


def _config(options: Options) -> TopicConfig:
    unit = _UNIT if options.decision("unit") else 0
    subscribed = _UNIT_SUBSCRIPTION if options.decision("hasUnitSub") else 0
    return TopicConfig(
        options.text("topic"),
        read_queue_nums=options.number("readQueueNums", 8),
        write_queue_nums=options.number("writeQueueNums", 8),
        perm=options.number("perm", Permission.READ | Permission.WRITE),
        topic_sys_flag=unit | subscribed,
        order=options.decision("order"),
        attributes=_attributes(options.maybe("attributes")),
    )


def _attributes(text: str | None) -> dict[str, str]:
    """Parse `+key=value,-key`."""
    changes: dict[str, str] = {}
    for part in (text or "").split(","):
        name, is_given, value = part.strip().partition("=")
        if not name:
            continue
        if name[0] not in "+-" or (name[0] == "+") != bool(is_given):
            raise UsageError(f"--attributes must be +key=value,-key, not {part.strip()!r}")
        changes[name] = value
    return changes


async def _fix_order(
    admin: Administration, options: Options, config: TopicConfig, shown: Page
) -> None:
    """Store the queues of an ordered topic at the name servers, where clients find them."""
    cluster = options.maybe("clusterName")
    broker = options.maybe("brokerAddr")
    if broker is None and cluster is not None:
        names = [each.broker_name for each in await admin.clusters.brokers(cluster)]
        kind = "cluster"
    else:
        settings = await admin.brokers.settings(broker or "")
        names, kind = [settings.get("brokerName", "")], "broker"
    order = ";".join(f"{name}:{config.write_queue_nums}" for name in names)
    (await admin.name_servers.put(ORDER_NAMESPACE, config.topic_name, order)).all()
    shown.say("order", f"set {kind} orderConf. isOrder=true, orderConf=[{order}]", order)


async def update_topics(admin: Administration, options: Options) -> Page:
    configs = [TopicConfig.from_json(each) for each in await load_list(options.text("filename"))]
    addresses = await selected_brokers(admin, options)
    made = await on_each(addresses, lambda address: admin.topics.create_all(address, configs))
    shown = Page(failures=list(made.failed.values()))
    for address in made.done:
        text = f"submit batch of topic config to {address} success, please check the result later."
        shown.say("done", text, address)
    return shown


async def update_permission(admin: Administration, options: Options) -> Page:
    topic, perm = options.text("topic"), options.number("perm")
    route = await admin.topics.route(topic)
    masters = {
        broker.addresses[MASTER_ID]: queues
        for broker in route.brokers
        for queues in route.queues
        if queues.broker_name == broker.broker_name and MASTER_ID in broker.addresses
    }
    shown = Page()
    for address in await selected_brokers(admin, options):
        queues = masters.get(address)
        if queues is None:
            shown.failures.append(
                CommandError(
                    "updateTopicPerm error broker not exit or broker is not master!"
                    f" {address} has no topic {topic}"
                )
            )
        elif queues.perm == perm:
            shown.say("unchanged", "new perm equals to the old one!", address)
        else:
            config = TopicConfig(
                topic,
                read_queue_nums=queues.read_queue_nums,
                write_queue_nums=queues.write_queue_nums,
                perm=perm,
                topic_sys_flag=queues.topic_sys_flag,
            )
            (await admin.topics.create([address], config)).all()
            text = f"update topic perm from {queues.perm} to {perm} in {address} success."
            shown.say("done", text, address)
            shown.say("topic", f"{java_text(config)}.", config.to_json())
    return shown


async def delete_topic(admin: Administration, options: Options) -> Page:
    topic, cluster = options.text("topic"), options.text("clusterName")
    addresses = await admin.clusters.masters(cluster)
    deleted = await admin.topics.delete(topic, addresses)
    if deleted.failed:
        return Page(failures=list(deleted.failed.values()))
    forgotten = await admin.topics.forget(topic, cluster)
    shown = Page(failures=list(forgotten.failed.values()))
    shown.say("brokers", f"delete topic [{topic}] from cluster [{cluster}] success.", [*addresses])
    if not forgotten.failed:
        shown.say("nameServers", f"delete topic [{topic}] from NameServer success.")
    return shown


async def update_order(admin: Administration, options: Options) -> Page:
    topic, method = options.text("topic"), options.text("method")
    names, shown = admin.name_servers, page()
    if method == "get":
        order = await names.value(ORDER_NAMESPACE, topic)
        text = f"get orderConf success. topic=[{topic}], orderConf=[{order}] "
        shown.say("orderConf", text, order)
    elif method == "put":
        order = options.maybe("orderConf") or ""
        if not order:
            raise UsageError("please set orderConf with option -v.")
        (await names.put(ORDER_NAMESPACE, topic, order)).all()
        text = f"update orderConf success. topic=[{topic}], orderConf=[{order}]"
        shown.say("orderConf", text, order)
    elif method == "delete":
        (await names.delete(ORDER_NAMESPACE, topic)).all()
        shown.say("deleted", f"delete orderConf success. topic=[{topic}]", topic)
    else:
        raise UsageError(f"--method must be get, put or delete, not {method}")
    return shown


def java_text(config: TopicConfig) -> str:
    """Return the settings as Java prints TopicConfig."""
    attributes = ", ".join(f"{name}={value}" for name, value in config.attributes.items())
    return (
        f"TopicConfig [topicName={config.topic_name}, readQueueNums={config.read_queue_nums},"
        f" writeQueueNums={config.write_queue_nums}, perm={_letters(config.perm)},"
        f" topicFilterType={config.topic_filter_type.value}, topicSysFlag={config.topic_sys_flag},"
        f" order={str(config.order).lower()}, attributes={{{attributes}}}]"
    )


def _letters(perm: int) -> str:
    """Return permissions as letters, such as `RW-`."""
    letters = ((Permission.READ, "R"), (Permission.WRITE, "W"), (Permission.INHERIT, "X"))
    return "".join(letter if perm & bit else "-" for bit, letter in letters)


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "updateTopic",
            (
                *_WHERE,
                _TOPIC,
                Option("a", "attributes", "+key=value,-key"),
                Option("r", "readQueueNums", "queues to read (8)"),
                Option("w", "writeQueueNums", "queues to write (8)"),
                Option("p", "perm", "2 write, 4 read, 6 both (6)"),
                Option("o", "order", "true: ordered, with queues fixed at the name servers"),
                Option("u", "unit", "true: a topic of one unit"),
                Option("s", "hasUnitSub", "true: units subscribe to the topic"),
            ),
            update_topic,
        ),
        Command(
            "updateTopicList",
            (*_WHERE, required("f", "filename", "JSON: a list of TopicConfig objects")),
            update_topics,
        ),
        Command(
            "updateTopicPerm",
            (*_WHERE, _TOPIC, required("p", "perm", "2 write, 4 read, 6 both")),
            update_permission,
        ),
        Command(
            "deleteTopic",
            (_TOPIC, required("c", "clusterName", "from all brokers of this cluster")),
            delete_topic,
        ),
        Command(
            "updateOrderConf",
            (
                _TOPIC,
                required("m", "method", "get, put or delete"),
                Option("v", "orderConf", "broker-a:4;broker-b:4"),
            ),
            update_order,
        ),
    )
}
