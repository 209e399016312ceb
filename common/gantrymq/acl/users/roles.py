"""Defines roles: short names for the policies that most users need.

A role is a template: tools expand it into policy entries when they give it to a user, and brokers
know entries only. So a role needs no request of its own, and RocketMQ's tools show its meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.acl.rights.actions import Action, action_names
from gantrymq.acl.users.policy import Decision
from gantrymq.acl.users.user import UserType
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.bodies.auth import PolicyEntryInfo, PolicyInfo


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """The permissions of a user with this role."""

    name: str
    about: str
    on_topics: Action = Action.NONE
    on_groups: Action = Action.NONE
    on_all: Action = Action.NONE
    user_type: UserType = UserType.NORMAL

    def policies(self, topics: Sequence[str], groups: Sequence[str]) -> tuple[PolicyInfo, ...]:
        """The policies for these names or prefixes such as `orders-*`.

        Raises ConfigurationError if the role needs a name that is missing, or a name is given that
        it does not need.
        """
        entries = [
            *self._entries("Topic", topics, self.on_topics),
            *self._entries("Group", groups, self.on_groups),
        ]
        if self.on_all:
            entries.append(_entry("*", self.on_all))
        return (PolicyInfo(entries=tuple(entries)),) if entries else ()

    def _entries(self, kind: str, names: Sequence[str], actions: Action) -> list[PolicyEntryInfo]:
        if bool(names) != bool(actions):
            word = "needs a name" if actions else "is for no name"
            raise ConfigurationError(f"the role {self.name} {word} of a {kind.lower()}")
        return [_entry(f"{kind}:{name}", actions) for name in names]


ROLES: Final = {
    role.name: role
    for role in (
        Role(name="admin", about="everything", user_type=UserType.SUPER),
        # The action Get would also allow reading messages by their keys.
        Role(name="producer", about="send to topics", on_topics=Action.PUB),
        Role(
            name="consumer",
            about="consume topics by groups, and move the groups' offsets",
            on_topics=Action.SUB | Action.GET | Action.UPDATE,
            on_groups=Action.SUB | Action.GET | Action.UPDATE,
        ),
        Role(
            name="observer",
            about="look at everything, at messages by their keys and ids too",
            on_all=Action.GET | Action.LIST,
        ),
    )
}


def _entry(resource: str, actions: Action) -> PolicyEntryInfo:
    return PolicyEntryInfo(
        resource=resource, actions=tuple(action_names(actions)), decision=Decision.ALLOW.value
    )
