"""Defines `gantry acl`: grants and revokes roles, and lists the policies of users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.access.roles import NAMES, entries_of, role_of
from gantrymq.cli.access.same_rows import same_rows
from gantrymq.cli.access.targets import AT_BROKERS, brokers, changed
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page, Table
from gantrymq.client.core.admin.asking import on_each
from gantrymq.wire.bodies.auth import AclInfo, UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gantrymq.acl.users.grants import PolicyChange
    from gantrymq.acl.users.roles import Role
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.wire.bodies.auth import PolicyEntryInfo

_SUBJECT: Final = "User:"
_TITLES: Final = (
    *("#User", "#PolicyType", "#Resource", "#Actions", "#SourceIp", "#Decision", "#Brokers"),
)
_FORM: Final = "%-16s  %-10s  %-24s  %-24s  %-20s  %-8s  %-8s"
_USER: Final = Option("", "user", "name of the user", is_positional=True)


async def listed(admin: Administration, options: Options) -> Page:
    """List the policies of slaves too, because each broker keeps its own."""
    text = options.maybe("filter") or ""
    addresses = await brokers(admin, options, with_slaves=True)
    answers = await on_each(addresses, lambda address: admin.policies.listed(address, text))
    table = Table("policies", _TITLES, _FORM, same_rows(answers, _rows))
    return Page([table], list(answers.failed.values()))


def _rows(acls: Sequence[AclInfo]) -> Iterator[tuple[str, ...]]:
    for acl in acls:
        name = (acl.subject or "").removeprefix(_SUBJECT)
        for policy in acl.policies:
            for entry in policy.entries:
                yield (
                    name,
                    policy.policy_type or "",
                    entry.resource or "",
                    ", ".join(entry.actions),
                    ", ".join(entry.source_ips) or "all",
                    entry.decision or "",
                )


async def grant(admin: Administration, options: Options) -> Page:
    name, role = options.text("user"), _needed(options)
    entries = entries_of(role, options)
    addresses = await brokers(admin, options, with_slaves=True)
    return await changed(
        addresses,
        lambda address: grant_at(admin, address, name, role, entries),
        f"{name} is {role.name} at %s.",
    )


async def grant_at(
    admin: Administration,
    address: str,
    name: str,
    role: Role,
    entries: Sequence[PolicyEntryInfo],
) -> None:
    """Add what the role allows to the policies that the user has at one broker."""
    from gantrymq.acl.users.grants import granted  # noqa: PLC0415 - help needs no policies

    if not entries:
        await admin.users.update(address, UserInfo(username=name, user_type=role.user_type.value))
        return
    before = await admin.policies.get(address, _SUBJECT + name)
    await _apply(admin, address, name, granted(before, entries))


async def revoke(admin: Administration, options: Options) -> Page:
    name, role = options.text("user"), _needed(options)
    entries = entries_of(role, options)
    addresses = await brokers(admin, options, with_slaves=True)
    return await changed(
        addresses,
        lambda address: _revoke_at(admin, address, name, entries),
        f"{name} is not {role.name} at %s.",
    )


async def _revoke_at(
    admin: Administration, address: str, name: str, entries: Sequence[PolicyEntryInfo]
) -> None:
    from gantrymq.acl.users.grants import revoked  # noqa: PLC0415 - help needs no policies

    if not entries:
        await admin.users.update(address, UserInfo(username=name, user_type="Normal"))
        return
    before = await admin.policies.get(address, _SUBJECT + name)
    await _apply(admin, address, name, revoked(before, entries))


async def _apply(admin: Administration, address: str, name: str, change: PolicyChange) -> None:
    subject = _SUBJECT + name
    if change.written:
        await admin.policies.update(address, AclInfo(subject=subject, policies=change.policies))
    for resource in change.deleted:
        await admin.policies.delete(address, subject, resource)


def _needed(options: Options) -> Role:
    role = role_of(options)
    if role is None:
        raise UsageError("--role is missing; it is admin, producer, consumer or observer")
    return role


_ROLE: Final = required("r", "role", "admin, producer, consumer or observer")
COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "acl list",
            (*AT_BROKERS, Option("f", "filter", "only users whose names contain this text")),
            listed,
        ),
        Command("acl grant", (_USER, *AT_BROKERS, _ROLE, *NAMES), grant),
        Command("acl revoke", (_USER, *AT_BROKERS, _ROLE, *NAMES), revoke),
    )
}
