"""Defines `gantry getAclConfig` and related commands: accounts as in RocketMQ 4.9."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from gantrymq.cli.access import new_password
from gantrymq.cli.frame.command import Command, selected_brokers
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page, Part, Table, Text
from gantrymq.client.core.admin.asking import on_each
from gantrymq.wire.headers.admin import UpdateAclConfigRequest
from gantrymq.wire.jsonvalue import Json

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.flow.flow_steps import Flow

_WHERE: Final = (
    Option("b", "brokerAddr", "at this broker"),
    Option("c", "clusterName", "at every broker of this cluster"),
)
_KEY: Final = required("a", "accessKey", "the access key of the account")


async def table(admin: Administration, options: Options) -> Page:
    """Show accounts as mqadmin does. Gantry's brokers send no secret keys; Java brokers do, and
    mqadmin shows them."""
    addresses = await selected_brokers(admin, options, with_slaves=True)
    answers = await on_each(addresses, admin.accounts.table)
    parts: list[Part] = []
    for address, accounts in answers.done.items():
        white: list[Json] = [*accounts.white_addresses]
        lines = ["", "globalWhiteRemoteAddresses:", *(f"\t{each}" for each in white), "accounts:"]
        for account in accounts.accounts:
            lines += [f"\t{name:<21}: {_text(value)}" for name, value in account.items()] + [""]
        value: Json = {"globalWhiteAddrs": white, "accounts": [*accounts.accounts]}
        parts.append(Text(address, [f"============{address}============", *lines], value))
    return Page(parts, list(answers.failed.values()))


def _text(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


async def versions(admin: Administration, options: Options) -> Page:
    addresses = await selected_brokers(admin, options, with_slaves=True)
    answers = await on_each(addresses, admin.accounts.versions)
    rows = [
        (each.cluster_name, each.broker_name, each.broker_addr, each.version)
        for each in answers.done.values()
    ]
    titles = ("#Cluster Name", "#Broker Name", "#Broker Addr", "#AclConfigVersion")
    form = "%-16s  %-22s  %-22s  %-20s"
    return Page([Table("versions", titles, form, rows)], list(answers.failed.values()))


async def update(admin: Administration, options: Options) -> Page:
    admins = options.maybe("admin")
    account = UpdateAclConfigRequest(
        access_key=options.text("accessKey"),
        secret_key=await new_password.given(options, "secretKey"),
        white_remote_address=options.maybe("whiteRemoteAddress"),
        admin=None if admins is None else options.decision("admin"),
        default_topic_perm=options.maybe("defaultTopicPerm"),
        default_group_perm=options.maybe("defaultGroupPerm"),
        topic_perms=options.maybe("topicPerms"),
        group_perms=options.maybe("groupPerms"),
    )
    text = options.maybe("oldSecretSeconds")
    seconds = None if text is None else options.number("oldSecretSeconds")
    return await _everywhere(
        admin,
        options,
        lambda address: admin.accounts.update(address, account, seconds),
        "create or update plain access config to %s success.",
    )


async def delete(admin: Administration, options: Options) -> Page:
    key = options.text("accessKey")
    return await _everywhere(
        admin,
        options,
        lambda address: admin.accounts.delete(address, key),
        "delete plain access config account to %s success.",
    )


async def set_white(admin: Administration, options: Options) -> Page:
    patterns = options.text("globalWhiteRemoteAddresses")
    path = options.maybe("aclFileFullPath") or ""
    return await _everywhere(
        admin,
        options,
        lambda address: admin.accounts.set_white_addresses(address, patterns, path),
        "update global white remote addresses to %s success.",
    )


async def _everywhere(
    admin: Administration, options: Options, work: Callable[[str], Flow[None]], text: str
) -> Page:
    answers = await on_each(await selected_brokers(admin, options, with_slaves=True), work)
    shown = Page(failures=list(answers.failed.values()))
    for address in answers.done:
        shown.say(address, text % address)
    return shown


COMMANDS: Final = {
    command.name: command
    for command in (
        Command("getAclConfig", _WHERE, table),
        Command("clusterAclConfigVersion", _WHERE, versions),
        Command(
            "updateAclConfig",
            (
                *_WHERE,
                _KEY,
                *new_password.SECRET_KEY_OPTIONS,
                Option(
                    "",
                    "oldSecretSeconds",
                    "how long the previous key stays valid, at Gantry's brokers: -1 until it is"
                    " removed, 0 removes it now",
                ),
                Option("w", "whiteRemoteAddress", "addresses that need no signature"),
                Option("m", "admin", "true: the account may administer the broker"),
                Option("i", "defaultTopicPerm", "DENY, PUB, SUB, or PUB|SUB"),
                Option("u", "defaultGroupPerm", "DENY, PUB, SUB, or PUB|SUB"),
                Option("t", "topicPerms", "topicA=PUB,topicB=SUB"),
                Option("g", "groupPerms", "groupA=SUB,groupB=DENY"),
            ),
            update,
        ),
        Command("deleteAclConfig", (*_WHERE, _KEY), delete),
        Command(
            "updateGlobalWhiteAddr",
            (
                *_WHERE,
                required("g", "globalWhiteRemoteAddresses", "addresses, separated by commas"),
                Option("p", "aclFileFullPath", "the file to change, if there are several"),
            ),
            set_white,
        ),
    )
}
