"""Formats users and policies as mqadmin's tables, without passwords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.cli.frame.page import Table
from gantrymq.wire.bodies.auth import AclInfo, UserInfo
from gantrymq.wire.jsonvalue import Json

HIDDEN: Final = "***"

_USER_TITLES: Final = ("#UserName", "#Password", "#UserType", "#UserStatus")
_USER_FORM: Final = "%-16s  %-22s  %-22s  %-22s"
_ACL_TITLES: Final = (
    *("#Subject", "#PolicyType", "#Resource", "#Actions", "#SourceIp", "#Decision"),
)
_ACL_FORM: Final = "%-16s  %-10s  %-22s  %-20s  %-24s  %-10s"
_NONE: Final = "null"


def users_table(users: Sequence[UserInfo]) -> Table:
    """Hide each password; Java brokers send them."""
    rows = [
        (user.username or _NONE, HIDDEN, user.user_type or _NONE, user.user_status or _NONE)
        for user in users
    ]
    return Table("users", _USER_TITLES, _USER_FORM, rows)


def policies_table(acls: Sequence[AclInfo], name: str = "policies") -> Table:
    """Make a row for each entry, and an empty row for a subject without policies."""
    rows: list[tuple[str, ...]] = []
    for acl in acls:
        subject = acl.subject or _NONE
        if not acl.policies:
            rows.append((subject, "", "", "", "", ""))
        for policy in acl.policies:
            rows += [
                (
                    subject,
                    policy.policy_type or _NONE,
                    entry.resource or _NONE,
                    _list(entry.actions),
                    _list(entry.source_ips) if entry.source_ips else _NONE,
                    entry.decision or _NONE,
                )
                for entry in policy.entries
            ]
    values: Json = [acl.to_json() for acl in acls]
    return Table(name, _ACL_TITLES, _ACL_FORM, rows, value=values)


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(texts)}]"
