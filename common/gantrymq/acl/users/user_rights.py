"""Checks what a user whose identity is proven may do.

A Super user may do everything, other users what their policies allow. With
authorizationEnabled=false every user may do everything but see and change accounts.
"""

from __future__ import annotations

from collections.abc import Iterable

from gantrymq.acl.requests.needs import ACCOUNT_REQUESTS, Row
from gantrymq.acl.rights.actions import action_names
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.rights.refusal import Refusal, not_permitted, shortened
from gantrymq.acl.rights.rights import Need, Resource
from gantrymq.acl.users.evaluation import decision
from gantrymq.acl.users.policy import Decision
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user import User
from gantrymq.acl.users.user_rules import UserRules
from gantrymq.base.errors import RemoteError
from gantrymq.wire.command import Command


def check(
    users: UserTable,
    user: User,
    row: Row | None,
    command: Command,
    caller: Caller,
    rules: UserRules,
) -> Refusal | None:
    """Why the request is refused, or None. `row` is the request's row in needs.py."""
    if user.is_super:
        return None
    if not rules.authorizes:
        return _super_needed(user, command) if command.code in ACCOUNT_REQUESTS else None
    if row is None or row.for_super_users:
        return _super_needed(user, command)
    try:
        needs = row.needs_of(command)
    except RemoteError as error:
        return not_permitted(f"parse authorization context error. {error}")
    if not needs and not row.may_name_nothing:
        return not_permitted(
            f"parse authorization context error. Request code {command.code} names no topic and no"
            " group: the client has to name what it asks for"
        )
    return lacking(users, user, needs, caller, rules)


def lacking(
    users: UserTable, user: User, needs: Iterable[Need], caller: Caller, rules: UserRules
) -> Refusal | None:
    """The refusal for the first need that the user's policies do not allow; None if there is
    none."""
    if user.is_super or not rules.authorizes:
        return None
    policies = users.policies_of(user.name)
    for need in needs:
        found = decision(policies, need, caller.peer, rules.cluster)
        if found is not Decision.ALLOW:
            return _denied(user, need, found, caller, rules)
    return None


def _denied(
    user: User, need: Need, found: Decision | None, caller: Caller, rules: UserRules
) -> Refusal:
    name = rules.cluster if need.resource is Resource.CLUSTER else need.name
    resource = f"{need.resource.value.capitalize()}:{shortened(name)}"
    address = caller.peer.rpartition(":")[0]
    why = "no matched policies." if found is None else "the decision is deny."
    actions = " or ".join(action_names(need.any_of))
    return not_permitted(
        f"{user.subject} has no permission to access {resource} from {address}, {why}"
        f" {actions} is needed: allow it with updateAcl"
    )


def _super_needed(user: User, command: Command) -> Refusal:
    return not_permitted(
        f"{user.subject} has no permission for request code {command.code}: a Super user is needed"
    )
