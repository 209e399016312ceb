"""Defines `gantry consumerConnection` and related commands: connected clients and their state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.option import Option, Options, flag, required
from gantrymq.cli.frame.page import Page, Table, Text, members, page
from gantrymq.client.core.admin.asking import on_each
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import JsonObject
from gantrymq.wire.version import version_name

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

_GROUP: Final = required("g", "consumerGroup", "consumer group name")
_BROKER: Final = Option("b", "brokerAddr", "as this broker knows it")


async def consumers(admin: Administration, options: Options) -> Page:
    group, broker = options.text("consumerGroup"), options.maybe("brokerAddr")
    connections = admin.connections
    found = await (
        connections.consumers(group) if broker is None else connections.consumers_at(broker, group)
    )
    clients = [
        (each.client_id, each.client_address, each.language, version_name(each.version))
        for each in found.connections
    ]
    topics = [(topic, each.sub_string) for topic, each in sorted(found.subscriptions.items())]
    ways = {
        "ConsumeType": found.consume_type,
        "MessageModel": found.message_model,
        "ConsumeFromWhere": found.consume_from_where,
    }
    return page(
        Table(
            "clients",
            ("#ClientId", "#ClientAddr", "#Language", "#Version"),
            "%-36s %-22s %-10s %s",
            clients,
        ),
        Text("below", ["", "Below is subscription:"], len(topics)),
        Table("subscriptions", ("#Topic", "#SubExpression"), "%-20s %s", topics),
        Text("ways", ["", *(f"{name}: {value}" for name, value in ways.items())], members(ways)),
    )


async def producers(admin: Administration, options: Options) -> Page:
    found = await admin.connections.producers(options.text("producerGroup"), options.text("topic"))
    lines = [
        f"{number:04}  {each.client_id:<32} {each.client_address:<22} {each.language:<8}"
        f" {version_name(each.version)}"
        for number, each in enumerate(found.connections, 1)
    ]
    return page(Text("producers", lines, [each.to_json() for each in found.connections]))


async def all_producers(admin: Administration, options: Options) -> Page:
    table = await admin.connections.all_producers(options.text("broker"))
    lines = []
    for group, clients in sorted(table.groups.items()):
        if not clients:
            lines.append(f"producer group ({group}) instances are empty")
        lines += [
            f"producer group ({group}) instance : clientId={each.client_id},"
            f"remoteIP={each.remote_ip}, language={each.language}, version={each.version},"
            f" lastUpdateTimestamp={each.heard_ms}"
            for each in clients
        ]
    return page(Text("producers", lines, table.to_json()["data"]))


async def consumer_status(admin: Administration, options: Options) -> Page:
    """Show the whole report of one consumer, or a row for each consumer of the group."""
    group, broker = options.text("consumerGroup"), options.maybe("brokerAddr")
    address = broker or (await admin.groups.brokers(group))[0]
    found = await admin.connections.consumers_at(address, group)
    wanted = options.maybe("clientId")
    with_threads = options.is_set("jstack")
    versions = {each.client_id: version_name(each.version) for each in found.connections}
    answers = await on_each(
        versions if wanted is None else [wanted],
        lambda client: admin.connections.running(address, group, client, with_threads=with_threads),
        admin.pace,
    )
    if wanted is not None:
        shown = [
            Text("client", [javajson.dumps_pretty(each).decode()], each)
            for each in answers.done.values()
        ]
        return Page([*shown], list(answers.failed.values()))
    rows = [
        (number, client, versions[client], len(_table(each, "mqTable")))
        for number, (client, each) in enumerate(sorted(answers.done.items()), 1)
    ]
    titles = ("#Index", "#ClientId", "#Version", "#Queues")
    table = Table("clients", titles, "%-10d %-40s %-20s %d", rows)
    agree = len({_subscribed(each) for each in answers.done.values()}) <= 1
    verdict = (
        "Same subscription in the same group of consumer"
        if agree
        else "WARN: Different subscription in the same group of consumer!!!"
    )
    return Page(
        [table, Text("sameSubscription", ["", "", verdict], agree)], [*answers.failed.values()]
    )


def _table(running: JsonObject, name: str) -> JsonObject:
    value = running.get(name)
    return value if isinstance(value, dict) else {}


def _subscribed(running: JsonObject) -> str:
    """Return the subscriptions as text, to compare the consumers of a group. The times at which
    they subscribed may differ, so the text leaves them out."""
    listed = running.get("subscriptionSet")
    items = listed if isinstance(listed, list) else []
    kept = [
        f"{each.get('topic')} {each.get('expressionType')} {each.get('subString')}"
        for each in items
        if isinstance(each, dict)
    ]
    return "\n".join(sorted(kept))


COMMANDS: Final = {
    command.name: command
    for command in (
        Command("consumerConnection", (_GROUP, _BROKER), consumers),
        Command(
            "producerConnection",
            (
                required("g", "producerGroup", "producer group name"),
                required("t", "topic", "a topic it sends to"),
            ),
            producers,
        ),
        Command("producer", (required("b", "broker", "the broker"),), all_producers),
        Command(
            "consumerStatus",
            (
                _GROUP,
                Option("i", "clientId", "the whole report of this client"),
                _BROKER,
                flag("s", "jstack", "include the stacks of its threads"),
            ),
            consumer_status,
        ),
    )
}
