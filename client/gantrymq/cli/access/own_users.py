"""Defines `gantry user`: users with roles, and passwords that rotate without an outage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.access import new_password, users
from gantrymq.cli.access.own_policies import grant_at
from gantrymq.cli.access.roles import NAMES, ROLE, entries_of, role_of
from gantrymq.cli.access.same_rows import same_rows
from gantrymq.cli.access.targets import AT_BROKERS, brokers, changed
from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options, flag
from gantrymq.cli.frame.page import Page, Table
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.users import UNTIL_REMOVED
from gantrymq.wire.bodies.auth import UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gantrymq.client.core.admin.administration import Administration

_TITLES: Final = ("#User", "#Type", "#Status", "#OldPassword", "#Brokers")
_FORM: Final = "%-24s  %-8s  %-8s  %-26s  %-8s"
_NAME: Final = Option("", "user", "name of the user", is_positional=True)
_TYPE: Final = Option("t", "userType", "Normal or Super; a Super user may do everything")


async def listed(admin: Administration, options: Options) -> Page:
    """List the users of slaves too, because each broker keeps its own."""
    text = options.maybe("filter") or ""
    addresses = await brokers(admin, options, with_slaves=True)
    answers = await on_each(addresses, lambda address: admin.users.listed(address, text))
    table = Table("users", _TITLES, _FORM, same_rows(answers, _rows))
    return Page([table], list(answers.failed.values()))


def _rows(found: Sequence[UserInfo]) -> Iterator[tuple[str, ...]]:
    for user in found:
        yield user.username or "", user.user_type or "", user.user_status or "", _old_key(user)


def _old_key(user: UserInfo) -> str:
    """Return until when the previous password stays valid."""
    until_ms = user.old_password_until
    if until_ms is None:
        return "-"
    return "until --end" if until_ms == UNTIL_REMOVED else f"until {timestamps.second(until_ms)}"


async def create(admin: Administration, options: Options) -> Page:
    name, role = options.text("user"), role_of(options)
    entries = [] if role is None else entries_of(role, options)
    user_type = options.maybe("userType") or (role and role.user_type.value)
    user = UserInfo(username=name, password=await new_password.needed(options), user_type=user_type)
    addresses = await brokers(admin, options, with_slaves=True)

    async def create_at(address: str) -> None:
        await admin.users.create(address, user)
        if role is not None and entries:
            await grant_at(admin, address, name, role, entries)

    return await changed(addresses, create_at, f"{name} is created at %s.")


async def update(admin: Administration, options: Options) -> Page:
    user = await users.changes(options, options.text("user"))
    addresses = await brokers(admin, options, with_slaves=True)
    return await changed(
        addresses,
        lambda address: admin.users.update(address, user),
        f"{user.username} is changed at %s.",
    )


async def rotate(admin: Administration, options: Options) -> Page:
    name = options.text("user")
    if options.is_set("end"):
        return await _end_rotation(admin, options, name)
    password = await new_password.needed(options)
    seconds = options.number("oldPasswordSeconds", UNTIL_REMOVED)
    addresses = await brokers(admin, options, with_slaves=True)

    async def rotate_at(address: str) -> None:
        known = await admin.users.get(address, name)
        if known is not None and known.password is not None:
            raise CommandError(
                f"{address} is a broker of RocketMQ, which keeps one password for each user: the"
                " old one would become invalid at once. Give the new password to all clients,"
                " then run gantry user update"
            )
        await admin.users.rotate(address, name, password, seconds)

    shown = await changed(addresses, rotate_at, f"{name} has a new password at %s.")
    if seconds == UNTIL_REMOVED and shown.parts:
        end = f"The old password is valid until: gantry user rotate {name} --end"
        shown.say("next", end, f"gantry user rotate {name} --end")
    return shown


async def _end_rotation(admin: Administration, options: Options, name: str) -> Page:
    if any(options.maybe(each) for each in ("password", "passwordFile", "oldPasswordSeconds")):
        raise UsageError(
            "--end removes the old password; give it without a password and --oldPasswordSeconds"
        )
    return await changed(
        await brokers(admin, options, with_slaves=True),
        lambda address: admin.users.end_rotation(address, name),
        f"{name} has one password at %s.",
    )


async def delete(admin: Administration, options: Options) -> Page:
    name = options.text("user")
    return await changed(
        await brokers(admin, options, with_slaves=True),
        lambda address: admin.users.delete(address, name),
        f"{name} is deleted at %s.",
    )


_STATUS: Final = Option("s", "userStatus", "enable or disable")
COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "user list",
            (*AT_BROKERS, Option("f", "filter", "only names that contain this text")),
            listed,
        ),
        Command(
            "user create",
            (_NAME, *AT_BROKERS, *new_password.OPTIONS, _TYPE, ROLE, *NAMES),
            create,
        ),
        Command("user update", (_NAME, *AT_BROKERS, *new_password.OPTIONS, _TYPE, _STATUS), update),
        Command(
            "user rotate",
            (
                _NAME,
                *AT_BROKERS,
                *new_password.OPTIONS,
                Option(
                    "",
                    "oldPasswordSeconds",
                    "how long the old password stays valid, at most 90 days (until --end)",
                ),
                flag("", "end", "remove the old password"),
            ),
            rotate,
        ),
        Command("user delete", (_NAME, *AT_BROKERS), delete),
    )
}
