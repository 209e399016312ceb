"""The options by which commands name a role, and what it has to be given or taken."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option, Options
from gantrymq.wire.bodies.auth import PolicyEntryInfo

if TYPE_CHECKING:
    from gantrymq.acl.users.roles import Role

NAMES: Final = (
    Option("", "topic", "of this topic, or of all that begin so: orders-*", is_repeated=True),
    Option("", "group", "of this group, or of all that begin so: orders-*", is_repeated=True),
    Option("", "sourceIp", "only from this address or network", is_repeated=True),
)
ROLE: Final = Option("r", "role", "admin, producer, consumer or observer")


def role_of(options: Options) -> Role | None:
    """None where none is named. UsageError where there is no such role, or names without one."""
    from gantrymq.acl.users.roles import ROLES  # noqa: PLC0415 - help needs no policies

    name = options.maybe("role")
    if name is None:
        if any(options.several(each.name) for each in NAMES):
            raise UsageError("--topic, --group and --sourceIp go with --role, which is missing")
        return None
    role = ROLES.get(name)
    if role is None:
        known = "; ".join(f"{each.name}: {each.about}" for each in ROLES.values())
        raise UsageError(f"there is no role {name}. There is {known}")
    return role


def entries_of(role: Role, options: Options) -> list[PolicyEntryInfo]:
    """What the role allows on the names that are given. UsageError where one is missing, or is of
    no use."""
    sources = tuple(options.several("sourceIp"))
    try:
        policies = role.policies(options.several("topic"), options.several("group"))
    except ConfigurationError as error:
        raise UsageError(f"{error}; names are given by --topic and --group") from None
    return [replace(entry, source_ips=sources) for policy in policies for entry in policy.entries]
