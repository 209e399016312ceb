"""Defines `gantry createAcl` and related commands: RocketMQ 5 policies, with mqadmin's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from gantrymq.cli.access.tables import policies_table
from gantrymq.cli.access.targets import AT_BROKERS, AT_MASTERS, changed, masters
from gantrymq.cli.frame.command import Command, selected_brokers
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page
from gantrymq.wire.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

_SUBJECT: Final = required("s", "subject", "User:<name>")
_ENTRIES: Final = (
    _SUBJECT,
    required("r", "resources", "Topic:orders-*,Group:billing,Cluster:*,*"),
    required("a", "actions", "some of Pub,Sub,Create,Update,Delete,Get,List, or All"),
    required("d", "decision", "Allow or Deny"),
    Option("i", "sourceIp", "only from these addresses or networks, separated by commas"),
)


async def create(admin: Administration, options: Options) -> Page:
    acl = _acl(options)
    addresses = await selected_brokers(admin, options, with_slaves=True)
    return await changed(
        addresses,
        lambda address: admin.policies.create(address, acl),
        "create acl to %s success.",
    )


async def update(admin: Administration, options: Options) -> Page:
    acl = _acl(options)
    addresses = await selected_brokers(admin, options, with_slaves=True)
    return await changed(
        addresses,
        lambda address: admin.policies.update(address, acl),
        "update acl to %s success.",
    )


def _acl(options: Options) -> AclInfo:
    """Make an entry for each resource, all with the same actions, sources and decision."""
    entries = [
        PolicyEntryInfo(
            resource=resource,
            actions=_texts(options.text("actions")),
            source_ips=_texts(options.maybe("sourceIp") or ""),
            decision=options.text("decision"),
        )
        for resource in _texts(options.text("resources"))
    ]
    return AclInfo(subject=options.text("subject"), policies=(PolicyInfo(entries=tuple(entries)),))


def _texts(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each)


async def delete(admin: Administration, options: Options) -> Page:
    subject, resource = options.text("subject"), options.maybe("resources")
    addresses = await selected_brokers(admin, options, with_slaves=True)
    return await changed(
        addresses,
        lambda address: admin.policies.delete(address, subject, resource),
        "delete acl to %s success.",
    )


async def get(admin: Administration, options: Options) -> Page:
    found: dict[str, list[AclInfo]] = {}
    for address in await masters(admin, options):
        acl = await admin.policies.get(address, options.text("subject"))
        found[address] = [] if acl is None else [acl]
    return _tables(found)


async def listed(admin: Administration, options: Options) -> Page:
    subject, resource = options.maybe("subject") or "", options.maybe("resource") or ""
    found = {
        address: await admin.policies.listed(address, subject, resource)
        for address in await masters(admin, options)
    }
    return _tables(found)


def _tables(found: Mapping[str, list[AclInfo]]) -> Page:
    """Make a table for each broker that has policies. In JSON, several tables are named by the
    addresses of their brokers."""
    return Page(
        [
            policies_table(acls, "policies" if len(found) == 1 else address)
            for address, acls in found.items()
            if acls
        ]
    )


async def copy(admin: Administration, options: Options) -> Page:
    source, target = options.text("fromBroker"), options.text("toBroker")
    shown = Page()
    for acl in await _to_copy(admin, source, options.maybe("subjects")):
        subject = acl.subject or ""
        if await admin.policies.get(target, subject) is None:
            await admin.policies.create(target, acl)
        else:
            await admin.policies.update(target, acl)
        text = f"copy acl of {subject} from {source} to {target} success."
        shown.say("done", text, subject)
    return shown


async def _to_copy(admin: Administration, source: str, subjects: str | None) -> list[AclInfo]:
    if not subjects:
        return await admin.policies.listed(source)
    found = [await admin.policies.get(source, each) for each in subjects.split(",") if each]
    return [acl for acl in found if acl is not None]


COMMANDS: Final = {
    command.name: command
    for command in (
        Command("createAcl", (*AT_BROKERS, *_ENTRIES), create),
        Command("updateAcl", (*AT_BROKERS, *_ENTRIES), update),
        Command(
            "deleteAcl",
            (
                *AT_BROKERS,
                _SUBJECT,
                Option("r", "resources", "only the entry for this resource"),
            ),
            delete,
        ),
        Command("getAcl", (*AT_MASTERS, _SUBJECT), get),
        Command(
            "listAcl",
            (
                *AT_MASTERS,
                Option("s", "subject", "only subjects that contain this text"),
                Option("r", "resource", "only resources that contain this text"),
            ),
            listed,
        ),
        Command(
            "copyAcl",
            (
                required("f", "fromBroker", "from this broker"),
                required("t", "toBroker", "to this broker"),
                Option("s", "subjects", "only these subjects, separated by commas"),
            ),
            copy,
        ),
    )
}
