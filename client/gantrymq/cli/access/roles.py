"""Parses the options that name a role and the resources that it applies to."""

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
    Option("", "topic", "for this topic, or a prefix such as orders-*", is_repeated=True),
    Option("", "group", "for this group, or a prefix such as orders-*", is_repeated=True),
    Option("", "sourceIp", "only from this address or network", is_repeated=True),
)
ROLE: Final = Option("r", "role", "admin, producer, consumer or observer")


def role_of(options: Options) -> Role | None:
    """Return the role; None if the options name none.

    Raises UsageError if the role is unknown, or if the role is missing that --topic, --group or
    --sourceIp apply to.
    """
    from gantrymq.acl.users.roles import ROLES  # noqa: PLC0415 - help needs no policies

    name = options.maybe("role")
    if name is None:
        if any(options.several(each.name) for each in NAMES):
            raise UsageError("--topic, --group and --sourceIp need --role, which is missing")
        return None
    role = ROLES.get(name)
    if role is None:
        known = "; ".join(f"{each.name}: {each.about}" for each in ROLES.values())
        raise UsageError(f"there is no role {name}. The roles are {known}")
    return role


def entries_of(role: Role, options: Options) -> list[PolicyEntryInfo]:
    """Return what the role allows on the topics and groups that the options name.

    Raises UsageError if the role needs a name that is missing, or does not use one that is given.
    """
    sources = tuple(options.several("sourceIp"))
    try:
        policies = role.policies(options.several("topic"), options.several("group"))
    except ConfigurationError as error:
        raise UsageError(f"{error}; --topic and --group give names") from None
    return [replace(entry, source_ips=sources) for policy in policies for entry in policy.entries]
