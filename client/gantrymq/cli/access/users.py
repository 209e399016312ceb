"""Defines `gantry createUser` and related commands: RocketMQ 5 users, with mqadmin's names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gantrymq.cli.access import new_password
from gantrymq.cli.access.tables import users_table
from gantrymq.cli.access.targets import AT_BROKERS, AT_MASTERS, changed, masters
from gantrymq.cli.frame.command import Command, selected_brokers
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page, page
from gantrymq.wire.bodies.auth import UserInfo

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

_NAME: Final = required("u", "username", "name of the user")
_TYPE: Final = Option("t", "userType", "Normal or Super; a Super user may do everything (Normal)")
_STATUS: Final = Option("s", "userStatus", "enable or disable")


async def create(admin: Administration, options: Options) -> Page:
    addresses = await selected_brokers(admin, options, with_slaves=True)
    user = UserInfo(
        username=options.text("username"),
        password=await new_password.needed(options),
        user_type=options.maybe("userType"),
    )
    return await changed(
        addresses,
        lambda address: admin.users.create(address, user),
        "create user to %s success.",
    )


async def update(admin: Administration, options: Options) -> Page:
    user = await changes(options, options.text("username"))
    addresses = await selected_brokers(admin, options, with_slaves=True)
    return await changed(
        addresses,
        lambda address: admin.users.update(address, user),
        "update user to %s success.",
    )


async def changes(options: Options, name: str) -> UserInfo:
    """Return what the options change about a user. Raises UsageError if they change nothing."""
    user = UserInfo(
        username=name,
        password=await new_password.given(options),
        user_type=options.maybe("userType"),
        user_status=options.maybe("userStatus"),
    )
    if user == UserInfo(username=name):
        raise UsageError(
            "the options change nothing: give --userType, --userStatus, or a password by"
            f" --passwordFile or {new_password.VARIABLE}"
        )
    return user


async def delete(admin: Administration, options: Options) -> Page:
    name = options.text("username")
    addresses = await selected_brokers(admin, options, with_slaves=True)
    return await changed(
        addresses, lambda address: admin.users.delete(address, name), "delete user to %s success."
    )


async def get(admin: Administration, options: Options) -> Page:
    """Return the user as the first master that has it lists it, as mqadmin does."""
    name = options.text("username")
    addresses = await masters(admin, options)
    for address in addresses:
        user = await admin.users.get(address, name)
        if user is not None:
            return page(users_table([user]))
    raise CommandError(f"there is no user {name} at {', '.join(addresses)}")


async def listed(admin: Administration, options: Options) -> Page:
    """Return the users of the first master that has any, as mqadmin does."""
    for address in await masters(admin, options):
        users = await admin.users.listed(address, options.maybe("filter") or "")
        if users:
            shown = page(users_table(users))
            if options.maybe("brokerAddr") is None:
                shown.say("from", f"get user from {address} success.", address)
            return shown
    return Page()


async def copy(admin: Administration, options: Options) -> Page:
    source, target = options.text("fromBroker"), options.text("toBroker")
    users = await _to_copy(admin, source, options.maybe("usernames"))
    shown = Page()
    for user in users:
        known = await admin.users.get(target, user.username or "")
        if known is not None:
            await admin.users.update(target, _without_rotation(user))
        elif user.password is None:
            shown.failures.append(
                CommandError(
                    f"user {user.username} is not copied, because {source} does not send"
                    f" passwords. Create the user first: gantry createUser -b {target}"
                    f" -u {user.username}"
                    f" -t {user.user_type} --passwordFile FILE"
                )
            )
            continue
        else:
            await admin.users.create(target, _without_rotation(user))
        text = f"copy user of {user.username} from {source} to {target} success."
        shown.say("done", text, user.username)
    return shown


async def _to_copy(admin: Administration, source: str, names: str | None) -> list[UserInfo]:
    if not names:
        return await admin.users.listed(source)
    found = [await admin.users.get(source, name) for name in names.split(",") if name]
    return [user for user in found if user is not None]


def _without_rotation(user: UserInfo) -> UserInfo:
    """Drop the time until which an old password is valid: it does not move with the user."""
    return replace(user, old_password_until=None)


COMMANDS: Final = {
    command.name: command
    for command in (
        Command("createUser", (*AT_BROKERS, _NAME, *new_password.OPTIONS, _TYPE), create),
        Command("updateUser", (*AT_BROKERS, _NAME, *new_password.OPTIONS, _TYPE, _STATUS), update),
        Command("deleteUser", (*AT_BROKERS, _NAME), delete),
        Command("getUser", (*AT_MASTERS, _NAME), get),
        Command(
            "listUser",
            (*AT_MASTERS, Option("f", "filter", "only names that contain this text")),
            listed,
        ),
        Command(
            "copyUser",
            (
                required("f", "fromBroker", "from this broker"),
                required("t", "toBroker", "to this broker"),
                Option("u", "usernames", "only these users, separated by commas"),
            ),
            copy,
        ),
    )
}
