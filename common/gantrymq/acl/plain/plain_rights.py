"""Checks the rights of an account of plain_acl.yml whose identity is proven."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gantrymq.acl.plain.accounts import Account
from gantrymq.acl.requests.needs import Plain, Row
from gantrymq.acl.rights.refusal import Refusal, refusal, shortened
from gantrymq.acl.rights.rights import Need, Resource, Right
from gantrymq.base.errors import RemoteError
from gantrymq.wire.command import Command

# Every account may write its own trace messages.
_TRACES: Final = Need(Resource.TOPIC, "RMQ_SYS_TRACE_TOPIC", Right.PUB)


def check(account: Account, row: Row | None, command: Command) -> Refusal | None:
    """Why the request is refused, or None. `row` is the request's row in needs.py."""
    if (row is None or row.plain is Plain.ADMIN) and not account.admin:
        return refusal(
            f"Need admin permission for request code={command.code}, but"
            f" accessKey={account.access_key} is not; use an account with admin: true"
        )
    if account.is_unrestricted or row is None or row.plain is not Plain.RIGHTS:
        return None
    try:
        needs = row.needs_of(command)
    except RemoteError as error:
        return refusal(str(error))
    if not needs and not row.may_name_nothing:
        return refusal(
            f"Need admin permission for request code={command.code} that names no topic and no"
            " group: the client has to name what it asks for"
        )
    return lacking(account, needs)


def lacking(account: Account, needs: Iterable[Need]) -> Refusal | None:
    """The refusal for the first need that the account's rights do not cover; None if there is
    none."""
    for need in needs:
        right = account.right_to(need)
        if not right.has(need.right) and not _is_trace(need):
            return refusal(
                f"No default permission for {need.resource.value}:{shortened(need.name)};"
                f" {need.right.text} is needed, and {account.access_key} has {right.text}:"
                f" add it to {need.resource.value}Perms of the account"
            )
    return None


def _is_trace(need: Need) -> bool:
    return (need.resource, need.name, need.right) == (
        _TRACES.resource,
        _TRACES.name,
        _TRACES.right,
    )
